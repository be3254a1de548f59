/* One log: put-if-absent, lost replies, late puts, retries, resolving by commit ID, stubs
 * (FORMAT.md, sections 5, 9 and 10).
 *
 * Each commit has an ID that is generated before the first attempt. Two processes share each ID: a writer
 * and one that takes over for it while the first may still run (section 10, point 3).
 *
 * A put takes effect at once or later, and its reply may be lost. A process that dies takes no further step;
 * its late puts still land.
 *
 * The content of entries is left out, except for a sink's batch: a commit is its ID. */

#ifndef COMMITS
#define COMMITS 2
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 1 /* processes that take over; of the first commits */
#endif
#ifndef OTHERS
#define OTHERS 1 /* commits by other writers, each one step */
#endif
#ifndef EXPIRES
#define EXPIRES 1
#endif
#ifndef READERS
#define READERS 1
#endif
#define SLOTS (COMMITS + TAKEOVERS + OTHERS + 2)
#define IDS (COMMITS + OTHERS + 1)
#define OTHER (COMMITS + 1)
#define most(a, b) ((a) > (b) -> (a) : (b))
#define bit(n) (1 << (n))
/* Commits 1 and 2 have the same (application, batch): a sink that was started twice. */
#define same_batch(a, b) ((a) != (b) && (a) <= 2 && (b) <= 2 && (a) + (b) == 3)

byte slot[SLOTS];      /* the commit ID under a version's name; 0 while it is absent */
byte stubs;            /* the oldest retained version; the entries below are stubs */
byte folded;           /* the commits in the state of the oldest retained version */
byte late[IDS];        /* puts in flight, one bit per version */
byte acknowledged;     /* commit IDs that were acknowledged to their writer */
byte refused;          /* commit IDs that were refused to their writer */
byte half;             /* a version whose name is visible before its content */

/* Scratch; see retention.pml. */
#ifdef BREADTH_FIRST
byte i, n;
#else
hidden byte i, n;
#endif

/* The log has one entry for each commit ID, whatever is in flight. */
inline check() {
  d_step {
    i = 0;
    do
    :: i < SLOTS ->
       n = i + 1;
       do
       :: n < SLOTS ->
          assert(slot[i] == 0 || slot[i] != slot[n]); /* every_commit_is_in_the_log_once */
          assert(slot[i] == 0 || slot[n] == 0 || !same_batch(slot[i], slot[n])); /* a_batch_is_committed_once */
          n++
       :: n >= SLOTS -> break
       od;
#ifndef FREED_NAMES
       assert(i <= 1 || slot[i] == 0 || slot[i - 1] != 0); /* versions_have_no_gaps */
#endif
       assert(slot[i] == 0 || !(refused & bit(slot[i])));  /* a_refused_commit_never_lands */
       i++
    :: i >= SLOTS -> break
    od;
    i = 0;
    n = 0
  }
}

/* acknowledged_commits_are_in_the_log */
inline acknowledge(id, version) {
  acknowledged = acknowledged | bit(id);
  assert(slot[version] == id)
}

/* The store: puts with an unknown outcome land, or are lost. */
proctype Network() {
  byte id, version;
end: do
  :: atomic {
       late[1] || late[2] ->
       if
       :: late[1] -> id = 1
       :: late[2] -> id = 2
       fi;
       version = 0;
       do
       :: !(late[id] & bit(version)) -> version++
       :: else -> break
       od;
       late[id] = late[id] & ~bit(version);
#ifdef LOOK_THEN_WRITE
       slot[version] = id;
       printf("> a late put of commit %d lands as log/%d\n", id, version);
#else
       if
       :: slot[version] == 0 ->
          slot[version] = id;
          printf("> a late put of commit %d lands as log/%d\n", id, version)
       :: else -> printf("> a late put of commit %d finds log/%d taken\n", id, version)
       fi;
#endif
       check();
       id = 0;
       version = 0
     }
  od
}

/* A commit (section 10). `id` is its commit ID, `settle` is whether it may have been tried before. */
proctype Writer(byte id; bool settle) {
  byte version;  /* the version to put next */
  bool absent, ours;
  atomic {
    /* Plan: load the newest version. Both processes commit on the base of the first. */
    version = 1;
#ifdef NO_SETTLE
    do
    :: slot[version] != 0 -> version++
    :: else -> break
    od;
#endif
    printf("> commit %d, process %d: begin after version %d\n", id, 1 + settle, version - 1)
  }
  do
  :: atomic {
       /* Read the newer entries, one of which may be our own. A stub has the commit ID, too. */
       slot[version] != 0 ->
       ours = slot[version] == id;
#ifdef STUB_FORGETS_COMMIT_ID
       ours = ours && version >= stubs;
#endif
#ifdef NO_OWN_ID_CHECK
       ours = false;
#endif
       printf("> commit %d, process %d: read log/%d, commit %d\n", id, 1 + settle, version, slot[version]);
       assert(half != version); /* an_entry_is_whole */
       if
       :: ours -> acknowledge(id, version); goto done
#ifndef NO_BATCH_CHECK
       :: !ours && same_batch(id, slot[version]) ->
          printf("> commit %d, process %d: refused, its batch is there\n", id, 1 + settle);
          refused = refused | bit(id);
          check();
          goto done
#endif
       :: else -> version++
       fi
     }
  :: atomic { slot[version] == 0 -> absent = true }
     /* Put if absent, and the possible replies. */
     if
#ifdef HALF_VISIBLE
     :: atomic {
          slot[version] == 0 ->
          slot[version] = id;
          half = version;
          printf("> commit %d, process %d: make log/%d, empty\n", id, 1 + settle, version)
        }
        atomic { half = 0; acknowledge(id, version); goto done }
#endif
     :: atomic { /* the reply arrives */
#ifndef LOOK_THEN_WRITE
          slot[version] == 0 ->
#else
          true ->
#endif
          slot[version] = id;
          printf("> commit %d, process %d: put log/%d, won\n", id, 1 + settle, version);
          check();
          assert(version >= stubs); /* acknowledged_commits_are_seen */
          acknowledge(id, version);
          goto done
        }
#ifndef LOOK_THEN_WRITE
     :: atomic { slot[version] != 0 -> printf("> commit %d, process %d: put log/%d, taken\n", id, 1 + settle, version) }
#endif
     :: atomic { /* the reply is lost */
          if
          :: slot[version] == 0 -> slot[version] = id
          :: else -> skip
          fi;
          printf("> commit %d, process %d: put log/%d, no answer\n", id, 1 + settle, version);
          check()
        }
     :: atomic { /* the request is still in flight */
          late[id] = late[id] | bit(version);
          printf("> commit %d, process %d: put log/%d, no answer, and it may land later\n", id, 1 + settle, version)
        }
        /* Put again until the name is taken, or give up: the outcome is unknown. */
        if
        :: skip
        :: atomic { printf("> commit %d, process %d: outcome unknown\n", id, 1 + settle); goto done }
        fi
     fi;
     absent = false
  od;
done:
  atomic { version = 0; absent = false; ours = false }
}

/* Another writer, whose commits are one step. */
proctype Other(byte id) {
  byte version;
  atomic {
    version = most(1, stubs);
    do
    :: slot[version] != 0 -> version++
    :: else -> break
    od;
    slot[version] = id;
    printf("> other: put log/%d\n", version);
    version = 0;
    check()
  }
}

/* Entries below the oldest retained version become stubs: names stay taken, commit IDs known (section 9). */
proctype Expire() {
  atomic {
    i = 1;
    do
    :: i < SLOTS - 1 && slot[i + 1] != 0 -> folded = folded | bit(slot[i]); i++
    :: else -> break
    od;
    stubs = i;
    printf("> expire: stubs below %d\n", stubs);
#ifdef FREED_NAMES
    i = 1;
    do
    :: i < stubs -> slot[i] = 0; i++
    :: else -> break
    od;
#endif
    i = 0
  }
}

/* Read the newest version, entry by entry (section 9). */
proctype Reader() {
  byte version, seen, before;
  atomic {
    before = acknowledged;
    version = most(1, stubs);
    seen = folded;
    printf("> reader: begin\n")
  }
  do
  :: atomic {
       slot[version] != 0 ->
       printf("> reader: read log/%d\n", version);
       assert(half != version); /* an_entry_is_whole */
       seen = seen | bit(slot[version]);
       version++
     }
  :: atomic { slot[version] == 0 -> break }
  od;
  atomic {
    printf("> reader: version %d\n", version - 1);
    assert((seen & before) == before); /* acknowledged_commits_are_seen */
    version = 0; seen = 0; before = 0
  }
}

init {
  atomic {
    run Network();
    i = 1; do :: i <= COMMITS -> run Writer(i, false); i++ :: i > COMMITS -> break od;
    i = 1; do :: i <= TAKEOVERS -> run Writer(i, true); i++ :: i > TAKEOVERS -> break od;
    i = 0; do :: i < OTHERS -> run Other(OTHER + i); i++ :: i >= OTHERS -> break od;
    i = 0; do :: i < EXPIRES -> run Expire(); i++ :: i >= EXPIRES -> break od;
    i = 0; do :: i < READERS -> run Reader(); i++ :: i >= READERS -> break od;
    i = 0
  }
}
