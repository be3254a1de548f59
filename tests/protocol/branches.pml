/* Branches of a table: their logs, merges, and the vacuum of the table (FORMAT.md, section 17).
 *
 * A commit to either log is one step, as in retention.pml. A branch begins, is written to by slow writers, merged, dropped,
 * and another one begins. Each writer writes one file, named after the branch and the version it was planned on. Every file
 * is older than the retention when vacuum lists it: only references and fences protect it. A process may stop before any
 * step. */

#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef MERGES
#define MERGES 1
#endif
#ifndef DROPS
#define DROPS 1
#endif
#ifndef VACUUMS
#define VACUUMS 1
#endif
#define BRANCHES 2
#define bit(n) (1 << (n))

/* By branch, 0 or 1. */
bool has_log[BRANCHES];
byte newest[BRANCHES];     /* the version of its last commit */
byte fence[BRANCHES];
byte names[BRANCHES];      /* the files that its commits name */

/* The table. */
byte registered;           /* the branches */
byte taken;                /* the files that merges have taken over */
byte merged_at[BRANCHES];  /* the files of the branch that the last merge saw */

/* By file, which is the number of its writer. */
byte exists;
byte planned[WRITERS];
byte branch_of[WRITERS];

#ifdef BREADTH_FIRST
byte i;
#else
hidden byte i;
#endif

#define is_registered(b) ((registered & bit(b)) != 0)

inline check() {
  d_step {
    assert((taken & ~exists) == 0);                                    /* the_table_keeps_its_files */
    i = 0;
    do
    :: i < BRANCHES ->
       if
       :: is_registered(i) ->
          assert(has_log[i]);                                          /* a_registered_branch_has_a_log */
          assert((names[i] & ~exists) == 0)                            /* a_branch_keeps_its_files */
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* Making a branch: its log is written, and then the table's entry. Nobody deletes a log that may be one being made. */
proctype Make(byte b) {
#ifdef REGISTERED_FIRST
  atomic { registered = registered | bit(b); printf("> make %d: put the entry of the table\n", b); check() }
  atomic { has_log[b] = true; printf("> make %d: write the log\n", b); check() }
#else
  atomic { has_log[b] = true; printf("> make %d: write the log\n", b) }
  atomic { registered = registered | bit(b); printf("> make %d: put the entry of the table\n", b); check() }
#endif
}

/* A writer that plans on the newest version of a branch, writes its file, and commits. */
proctype Write(byte w) {
  byte b;
end_wait:
  atomic {
    registered != 0 ->
    if
    :: is_registered(0) -> b = 0
    :: is_registered(1) -> b = 1
    fi;
    branch_of[w] = b;
    planned[w] = newest[b];
    printf("> write %d: plan on version %d of branch %d\n", w, planned[w], b)
  }
  atomic { exists = exists | bit(w); printf("> write %d: write the file\n", w) }
  atomic {
    if
#ifndef UNFENCED_BRANCH_WRITER
    :: planned[w] < fence[b] -> printf("> write %d: refused, below the fence\n", w)
#endif
    :: else ->
       names[b] = names[b] | bit(w);
       newest[b]++;
       printf("> write %d: commit to branch %d\n", w, b)
    fi;
    check()
  }
}

/* A merge that reads a branch, and then commits to the table what it has seen, if the branch is registered. */
proctype Merge() {
  byte b, seen;
end_wait:
  atomic {
    registered != 0 ->
    if
    :: is_registered(0) -> b = 0
    :: is_registered(1) -> b = 1
    fi;
    seen = names[b];
    printf("> merge: read branch %d\n", b)
  }
  atomic {
    if
#ifndef MERGE_OF_DROPPED
    :: !is_registered(b) -> printf("> merge: refused, the branch is gone\n")
#else
    :: !is_registered(b) -> taken = taken | seen; printf("> merge: commit to the table\n")
#endif
#ifndef OLDER_MERGE
    :: is_registered(b) && (merged_at[b] & ~seen) != 0 -> printf("> merge: nothing to do, a newer merge was here\n")
    :: is_registered(b) && (merged_at[b] & ~seen) == 0 ->
#else
    :: is_registered(b) ->
#endif
       assert((merged_at[b] & ~seen) == 0);                            /* a_merge_takes_no_other_back */
       taken = taken | (seen & ~merged_at[b]);
       merged_at[b] = seen;
       printf("> merge: commit to the table\n")
    fi;
    check()
  }
}

proctype Drop() {
end_wait:
  atomic {
    registered != 0 ->
    if
    :: is_registered(0) -> registered = registered & ~bit(0)
    :: is_registered(1) -> registered = registered & ~bit(1)
    fi;
    printf("> drop a branch\n")
  }
}

/* The files of a branch that must stay: those that it names, and those that a writer may still commit. */
inline keep(b) {
#ifdef BRANCHES_UNKNOWN
  skip
#else
  d_step {
    if
    :: known & bit(b) ->
       needed = needed | names[b];
       i = 0;
       do
       :: i < WRITERS ->
          if
          :: (exists & bit(i)) && branch_of[i] == b && planned[i] >= limit[b] -> needed = needed | bit(i)
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0
    :: else
    fi
  }
#endif
}

proctype Vacuum() {
  byte listed, known, needed, limit[BRANCHES], b;
  atomic { listed = exists; printf("> vacuum: list the files\n") }
  /* The versions that are old enough: all, since the retention is short. */
  atomic { known = registered; limit[0] = newest[0]; limit[1] = newest[1]; needed = taken }
  keep(0);
  keep(1);
  printf("> vacuum: keep %d of %d\n", needed, listed);
  if
  :: (listed & ~needed) == 0 -> goto done
  :: else
  fi;
#ifndef NO_BRANCH_FENCE
  b = 0;
  do
  :: b < BRANCHES ->
     atomic {
       if
       :: (known & bit(b)) && fence[b] < limit[b] ->
          fence[b] = limit[b];
          newest[b]++;
          printf("> vacuum: fence branch %d at %d\n", b, limit[b])
       :: else
       fi;
       b++
     }
  :: else -> break
  od;
#endif
#ifndef READ_ONCE
  atomic { known = registered; needed = taken; printf("> vacuum: read the table again\n") }
  keep(0);
  keep(1);
#endif
  atomic {
    exists = exists & ~(listed & ~needed);
    printf("> vacuum: delete %d\n", listed & ~needed);
    check()
  }
done:
  skip
}

init {
  atomic {
    run Make(0);
    run Make(1);
    i = 0;
    do
    :: i < WRITERS -> run Write(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < MERGES -> run Merge(); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < DROPS -> run Drop(); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < VACUUMS -> run Vacuum(); i++
    :: else -> break
    od;
    i = 0
  }
}
