/* Expire, vacuum, rollback, tags, writers and readers on one table (FORMAT.md, sections 9 to 11).
 *
 * A commit is one step here: it checks the newest state and appends the entry. That is exact, since
 * a put-if-absent that wins proves that no commit came between the two (log.pml has the details), and
 * the older entries that a plan reads never change.
 *
 * A process that dies takes no further step. The search explores every such run, so there
 * is no step for a crash; two processes of a kind stand for one that died and its successor.
 * A commit whose outcome is unknown is a late step, or a step after which the process stops.
 *
 * The state of a version is a function of the log, so it is stored once, by version. Loading only decides
 * whether that state can be reached from what is in storage.
 *
 * Ages: `aged` is the newest version older than the retention. Files have no age:
 * vacuum may delete recent ones too. The invariants hold without that protection, so they hold with it.
 *
 * Sizes (set by the runner): EXPIRES, VACUUMS, WRITERS, ROLLBACKS, TAGGERS, READERS, TICKS. */

#ifndef EXPIRES
#define EXPIRES 2
#endif
#ifndef VACUUMS
#define VACUUMS 1
#endif
#ifndef WRITERS
#define WRITERS 0
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0
#endif
#ifndef TAGGERS
#define TAGGERS 0
#endif
#ifndef TAGS_DROPPED
#define TAGS_DROPPED 1 /* whether taggers drop tags, too */
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef TICKS
#define TICKS 1
#endif

#ifndef FIRST
#define FIRST 3 /* versions at the start: 3 or 4 */
#endif
#define VERSIONS (FIRST + EXPIRES + VACUUMS + WRITERS + ROLLBACKS + 2 * TAGGERS)
#define FILES (FIRST + WRITERS)
#define NONE 31 /* no version */
#define bit(n) (1 << (n))

/* Storage. */
byte stub[VERSIONS];     /* the oldest retained version in the stub of a version; 0 while it is an entry */
short kept;              /* kept/<version>, one bit each */
byte files;              /* data files, one bit each */
byte base_of[FILES];     /* the base version in a file's name */

/* The newest version, and the state at every version: the fold of the entries up to it. */
byte newest;
byte live[VERSIONS];
byte added[VERSIONS];    /* the files that the entry adds */
byte floor_at[VERSIONS];
byte fence_at[VERSIONS];
byte tag_at[VERSIONS];
short loud;              /* entries that changed something a rollback would undo, or a fence */

byte aged;
byte ticks;
byte expires, vacuums; /* started so far: those of a kind are alike, and start in order */

/* Scratch; not part of a state, except in the breadth-first search, which can't leave it out. */
#ifdef BREADTH_FIRST
byte i, j, f, ok;
#else
hidden byte i, j, f, ok;
#endif

#define keeps(state, version) ((version) >= floor_at[state] || tag_at[state] == (version))
#define is_kept(version) (kept & bit(version))
#define least(a, b) ((a) < (b) -> (a) : (b))
#define most(a, b) ((a) > (b) -> (a) : (b))

/* Follow a stub to a state in kept/ (section 9): `f` becomes its version, `ok` whether it exists. */
inline follow(floor) {
  f = floor;
  do
  :: is_kept(f) -> ok = true; break
  :: !is_kept(f) && stub[f] > f -> f = stub[f]
  :: !is_kept(f) && stub[f] <= f -> ok = false; break
  od
}

/* Load the state at a version, starting at entry 0; without a checkpoint, which is the worst case. */
inline load(version) {
  d_step {
    j = 0;
    ok = true;
    do
    :: ok && j <= version && stub[j] == 0 -> j++
    :: ok && j <= version && stub[j] != 0 ->
       if
       :: version < stub[j] -> ok = is_kept(version); break
       :: else ->
          follow(stub[j]);
          if
          :: ok && version < f -> ok = is_kept(version); break
          :: else -> j = f + 1
          fi
       fi
    :: !ok || j > version -> break
    od
  }
}

/* The invariants. Every version that the newest state retains can be loaded, whatever entry or checkpoint
 * the reader starts at: from any stub up to it. All its files exist. */
inline check() {
  d_step {
    i = 0;
    do
    :: i <= newest ->
       if
       :: keeps(newest, i) ->
          /* no_retained_file_is_deleted */
          assert((files & live[i]) == live[i]);
          j = 0;
          do
          :: j <= i ->
             if
             :: stub[j] != 0 ->
                ok = true;
                f = stub[j];
                if
                :: i >= stub[j] -> follow(stub[j])
                :: else -> skip
                fi;
                /* every_retained_version_loads */
                assert(ok && (i >= f || is_kept(i)))
             :: else -> skip
             fi;
             j++
          :: j > i -> break
          od
       :: else -> skip
       fi;
       i++
    :: i > newest -> break
    od;
      i = 1;
    do
    :: i < stub[0] -> assert(stub[i] != 0); /* stub_0_covers_all_below (section 9) */ i++
    :: i >= stub[0] -> break
    od;
    i = 0; j = 0; f = 0
  }
}

/* Add an entry with the state of the one before, which the caller changes. */
inline append_entry() {
  newest++;
  live[newest] = live[newest - 1];
  floor_at[newest] = floor_at[newest - 1];
  fence_at[newest] = fence_at[newest - 1];
  tag_at[newest] = tag_at[newest - 1]
}

/* Time passes: the newest version becomes older than the retention. */
proctype Clock() {
end: do
  :: d_step { ticks < TICKS && aged < newest ->
       ticks++;
       aged = newest;
       printf("> time passes: version %d was the newest one retention ago\n", aged)
     }
  od
}

/* Append (section 10): plan on a base, write a file with the base in its name, commit. */
proctype Writer(byte id) {
  byte base;
  d_step { base = newest; printf("> writer %d: plan on version %d\n", id, base) }
  d_step {
    files = files | bit(FIRST + id);
    base_of[FIRST + id] = base;
    printf("> writer %d: write data/%d-%c\n", id, base, 'a' + FIRST + id)
  }
  d_step {
    if
#ifndef UNFENCED_WRITER
    :: base < fence_at[newest] ->
       printf("> writer %d: refused by fence %d\n", id, fence_at[newest]);
       /* maintenance_never_fails_a_young_writer: its base was replaced before the retention */
       assert(base < aged)
#endif
    :: else ->
       append_entry();
       added[newest] = bit(FIRST + id);
       live[newest] = live[newest] | bit(FIRST + id);
       loud = loud | bit(newest);
       printf("> writer %d: put log/%d, adds data/%d-%c\n", id, newest, base, 'a' + FIRST + id);
       check()
    fi;
    base = 0
  }
}

/* Rollback to a retained version (sections 5 and 11, notes 9 and 11). */
proctype Rollback(byte id) {
  byte base, to;
  atomic {
    base = newest;
    to = 0;
    do
    :: to < base - 1 -> to++
    :: break
    od;
    if
    :: keeps(base, to) -> printf("> rollback %d: plan on version %d, to version %d\n", id, base, to)
    :: else -> goto done
    fi
  }
  d_step {
    ok = true;
    i = base + 1;
    do
    :: i <= newest -> ok = ok && stub[i] == 0 && !(loud & bit(i)); i++
    :: i > newest -> break
    od;
#ifndef ROLLBACK_IGNORES_EXPIRY
    ok = ok && keeps(newest, to);
    if
    :: ok -> load(to)
    :: else -> skip
    fi;
#endif
    if
    :: !ok -> printf("> rollback %d: refused\n", id)
    :: else ->
       append_entry();
       added[newest] = live[to] & ~live[newest];
       live[newest] = live[to];
       loud = loud | bit(newest);
       printf("> rollback %d: put log/%d, as version %d was\n", id, newest, to);
       check()
    fi;
    base = 0;
    to = 0
  }
done:
  skip
}

#ifdef TAG_IGNORES_EXPIRY
#define may_tag(version) true
#else
#define may_tag(version) keeps(newest, version)
#endif

/* Set a tag to a retained version, and maybe drop it again. */
proctype Tagger(byte id) {
  byte version;
  atomic {
    version = 0;
    do
    :: version < newest -> version++
    :: break
    od;
  }
  d_step {
    if
    :: may_tag(version) ->
       append_entry();
       tag_at[newest] = version;
       printf("> tagger %d: put log/%d, tags version %d\n", id, newest, version);
       check()
    :: else -> skip
    fi;
    version = 0
  }
  if
  :: d_step {
       TAGS_DROPPED && tag_at[newest] != NONE ->
       append_entry();
       tag_at[newest] = NONE;
       printf("> tagger %d: put log/%d, drops the tag\n", id, newest);
       check()
     }
  :: skip
  fi
}

#define put_kept(version) \
  load(version); \
  if \
  :: ok -> \
     kept = kept | bit(version); \
     printf("> expire %d: write kept/%d\n", id, version) \
  :: else -> \
     gone = true; \
     printf("> expire %d: version %d is expired already, stop\n", id, version) \
  fi

/* Expiry (section 9). Each `atomic` is one storage call and the decisions that follow from it. */
proctype Expire(byte id) {
  byte known, target, tag, v;
  bool gone;
  atomic {
    expires == id - 1 ->
    expires = id;
    known = newest;
    target = least(aged, newest);
    tag = (tag_at[known] < target -> tag_at[known] : NONE);
    printf("> expire %d: load version %d, the floor is to be %d\n", id, known, target);
    if
    :: target <= floor_at[known] -> goto second_half
    :: else
    fi
  }
#ifndef KEPT_AFTER_STUBS
  atomic {
    put_kept(target);
    if
    :: gone -> goto done
    :: !gone && tag == NONE -> goto commit
    :: else
    fi
  }
  atomic {
    put_kept(tag);
    if
    :: gone -> goto done
    :: else
    fi
  }
#endif
commit:
  atomic {
    known = newest;
    if
    :: target <= floor_at[known] -> goto second_half
    :: target > floor_at[known] && tag_at[known] < target && tag_at[known] != tag ->
       printf("> expire %d: refused, version %d was tagged\n", id, tag_at[known]);
       goto done
    :: else ->
       append_entry();
       floor_at[newest] = target;
       known = newest;
       printf("> expire %d: put log/%d, floor %d\n", id, newest, target);
       check()
    fi;
    goto second_half
  }
second_half: /* of any expiry: until the entries below the oldest retained version are stubs */
  atomic {
    known = newest;
    target = floor_at[known];
    tag = (tag_at[known] < target -> tag_at[known] : NONE);
    known = 0;
    v = most(stub[0], 1);
    gone = false;
    if
    :: stub[0] >= target -> goto done
    :: else
    fi
  }
#ifndef KEPT_AFTER_STUBS
  atomic {
    if
    :: !is_kept(target) -> put_kept(target)
    :: else
    fi;
    if
    :: gone && floor_at[newest] > target -> goto second_half
    :: gone && floor_at[newest] <= target -> goto done
    :: !gone && tag == NONE -> goto stubs
    :: else
    fi
  }
  atomic {
    if
    :: !is_kept(tag) -> put_kept(tag)
    :: else
    fi;
    if
    :: gone && floor_at[newest] > target -> goto second_half
    :: gone && floor_at[newest] <= target -> goto done
    :: else
    fi;
  }
stubs:
#endif
#ifdef STUB_0_FIRST
  atomic {
    stub[0] = most(target, stub[0]);
    printf("> expire %d: overwrite log/0 by a stub, floor %d\n", id, stub[0]);
    check()
  }
#endif
  /* From low to high; an entry may have become a stub between its read and its overwrite. */
  do
  :: atomic { v < target && stub[v] != 0 -> v++ }
  :: atomic { v < target && stub[v] == 0 -> skip }
     atomic {
       stub[v] = target;
       printf("> expire %d: overwrite log/%d by a stub, floor %d\n", id, v, target);
       check();
       v++
     }
  :: atomic { v >= target -> tag = NONE; v = most(target, stub[0]) } break
  od;
  atomic {
    stub[0] = v;
    printf("> expire %d: overwrite log/0 by a stub, floor %d\n", id, v);
    check()
  }
#ifdef KEPT_AFTER_STUBS
  atomic { put_kept(target); check() }
#else
  goto second_half;
#endif
done:
  atomic { known = 0; target = 0; tag = 0; v = 0; gone = false }
}

/* What vacuum may delete of kept/: below the floor, where the entry is a stub with the next floor. */
#ifdef NO_STUB_GUARD
#define passed(version) true
#else
#define passed(version) (stub[version] != 0)
#endif
#ifdef NO_FLOOR_GUARD
#define may_go(version) (version > floor_at[s] || (version < floor_at[s] && passed(version)))
#else
#define may_go(version) (version < floor_at[s] && passed(version))
#endif
#ifdef NO_RESTART
#define start_over_if(condition) skip
#else
#define start_over_if(condition) if :: condition -> goto start_over :: else fi
#endif

#define name_tag_of(version) \
  if \
  :: tag_at[version] < first -> named = named | bit(tag_at[version]) \
  :: else \
  fi

#define read_entry(version) \
  if \
  :: stub[version] == 0 -> \
     refs = refs | added[version]; \
     name_tag_of(version); \
     printf("> vacuum %d: read log/%d\n", id, version) \
  :: else -> \
     printf("> vacuum %d: read log/%d, a stub\n", id, version); \
     start_over_if(true) \
  fi

/* Vacuum (section 9): list, references of the newest state S, fence, newest state N, references again. */
proctype Vacuum(byte id) {
  byte listed, s, n, fence, first, r, refs;
  short listed_kept, named;
  bool fenced;
  atomic {
    vacuums == id - 1 ->
    vacuums = id;
    listed = files;
    listed_kept = kept;
    printf("> vacuum %d: list data/ and kept/\n", id)
  }
start_over:
  atomic {
    s = newest;
    n = 0;
#ifdef FENCE_AT_NEWEST
    fence = newest;
#else
    fence = (fence != 0 -> most(fence, fence_at[s]) : most(fence_at[s], least(aged, s)));
#endif
    printf("> vacuum %d: load version %d, floor %d; the fence is to be %d\n", id, s, floor_at[s], fence)
  }
references:
  atomic {
    r = floor_at[s];
#ifdef FOLLOWS_STUB_AT_FLOOR
    do
    :: r <= newest && stub[r] != 0 -> r = most(stub[r], r + 1)
    :: else -> break
    od;
    start_over_if(r > s);
#else
    start_over_if(stub[r] != 0);
#endif
    load(r);
    start_over_if(!ok);
    printf("> vacuum %d: load the state at %d\n", id, r);
    refs = live[r] | live[s];
    named = 0;
    first = r;
    name_tag_of(r);
    name_tag_of(s);
    r++
  }
  do
  :: atomic { r <= s -> read_entry(r); r++ }
  :: atomic { r > s -> r = 0 } break
  od;
  /* The states of tags below the floor; one that the newest state does not name may be missing. */
  do
  :: atomic {
       r < first && (named & bit(r)) ->
       load(r);
       if
       :: ok -> refs = refs | live[r]; printf("> vacuum %d: load tagged version %d\n", id, r)
       :: !ok && tag_at[s] == r -> goto start_over
       :: else
       fi;
       r++
     }
  :: atomic { r < first && !(named & bit(r)) -> r++ }
  :: atomic {
       r >= first -> r = 0;
       if
       :: fenced -> goto delete
       :: else
       fi
     } break
  od;
#ifndef NO_FENCE
  atomic {
    if
    :: fence > fence_at[newest] ->
       append_entry();
       fence_at[newest] = fence;
       loud = loud | bit(newest);
       printf("> vacuum %d: put log/%d, fence %d\n", id, newest, fence)
    :: else
    fi
  }
#endif
#ifdef REFERENCES_BEFORE_FENCE_ONLY
  goto delete;
#endif
  atomic {
    n = newest;
    printf("> vacuum %d: load version %d, floor %d\n", id, n, floor_at[n]);
    fenced = true;
#ifndef NO_RESTART
    if
    :: floor_at[n] > floor_at[s] -> s = n; n = 0; goto references
    :: else
    fi;
#endif
    r = s + 1;
    s = n /* from here on, its floor is that of N */
  }
  do
  :: atomic { r <= n -> read_entry(r); r++ }
  :: atomic { r > n -> n = 0; r = 0 } break
  od;
delete:
  /* All data files in one step: only the invariants read them, and deleting fewer breaks less. */
  atomic {
    i = 0;
    do
    :: i < FILES ->
       if
       :: (listed & bit(i)) && !(refs & bit(i)) && base_of[i] < fence && (files & bit(i)) ->
          files = files & ~bit(i);
          printf("> vacuum %d: delete data/%d-%c\n", id, base_of[i], 'a' + i)
       :: else
       fi;
       i++
    :: i >= FILES -> break
    od;
    refs = 0; listed = 0; fence = 0; fenced = false;
    check()
  }
  do
  :: atomic { r < VERSIONS && !((listed_kept & bit(r)) && !(named & bit(r)) && may_go(r)) -> r++ }
  :: atomic { r < VERSIONS && (listed_kept & bit(r)) && !(named & bit(r)) && may_go(r) -> skip }
     atomic {
       kept = kept & ~bit(r);
       printf("> vacuum %d: delete kept/%d\n", id, r);
       r++;
       check()
     }
  :: r >= VERSIONS -> break
  od;
  atomic { s = 0; n = 0; r = 0; first = 0; listed_kept = 0; named = 0 }
}

/* Read the newest version, or a retained one (section 9), request by request. It starts at entry 0. One that
 * starts at a checkpoint is in the same state as this one after the entries up to there. */
proctype Reader(byte id) {
  byte at, version, floor;
  bool found;
  atomic {
    version = 0;
    do
    :: version < newest -> version++
    :: break
    od;
    if
    :: keeps(newest, version)
    :: version = NONE
    fi;
    printf("> reader %d: version %d (31: the newest)\n", id, version)
  }
onward:
  do
  :: atomic { at > newest || at > version -> at--; floor = 0 } goto loaded
  :: atomic {
       at <= newest && at <= version ->
       floor = stub[at];
       printf("> reader %d: read log/%d\n", id, at);
       at++;
       if
       :: floor == 0
       :: floor != 0 && version < floor -> goto tagged
       :: else -> at = 0; goto at_floor
       fi
     }
  od;
at_floor:
  do
  :: atomic {
       is_kept(floor) ->
       printf("> reader %d: read kept/%d\n", id, floor);
       if
       :: version < floor -> goto tagged
       :: else -> at = floor + 1; goto onward
       fi
     }
  :: atomic { !is_kept(floor) -> printf("> reader %d: kept/%d is absent\n", id, floor) }
     atomic {
       assert(stub[floor] > floor); /* every_retained_version_loads, request by request */
       floor = stub[floor];
       printf("> reader %d: its entry says floor %d\n", id, floor)
     }
  od;
tagged:
  atomic {
    at = version;
    if
    :: is_kept(version) -> printf("> reader %d: read kept/%d\n", id, version)
    :: else ->
       /* a_reader_fails_only_on_expired_versions */
       assert(!keeps(newest, version));
       at = NONE
    fi
  }
loaded:
  atomic {
    if
    :: at != NONE ->
       /* a_reader_fails_only_on_expired_versions */
       assert((files & live[at]) == live[at] || !keeps(newest, at))
    :: else -> skip
    fi;
    at = 0; version = 0; floor = 0
  }
}

/* Three versions, each of which replaced the data of the one before; none has expired. Of four, version 1
 * appends, and version 2 replaces the data of version 0, so it needs the file that version 1 added. */
init {
  atomic {
    newest = FIRST - 1;
    i = 0;
    do
    :: i < FIRST ->
       live[i] = bit(i);
       added[i] = bit(i);
       files = files | bit(i);
       base_of[i] = (i == 0 -> 0 : i - 1);
       tag_at[i] = NONE;
       loud = loud | bit(i);
       i++
    :: i >= FIRST -> break
    od;
#if FIRST == 4
    live[1] = bit(0) | bit(1);
    live[2] = bit(1) | bit(2);
#endif
    i = 0;
    aged = FIRST - 2;
    run Clock();
    i = 0; do :: i < EXPIRES -> run Expire(i + 1); i++ :: i >= EXPIRES -> break od;
    i = 0; do :: i < VACUUMS -> run Vacuum(i + 1); i++ :: i >= VACUUMS -> break od;
    i = 0; do :: i < WRITERS -> run Writer(i); i++ :: i >= WRITERS -> break od;
    i = 0; do :: i < ROLLBACKS -> run Rollback(i + 1); i++ :: i >= ROLLBACKS -> break od;
    i = 0; do :: i < TAGGERS -> run Tagger(i + 1); i++ :: i >= TAGGERS -> break od;
    i = 0; do :: i < READERS -> run Reader(i + 1); i++ :: i >= READERS -> break od;
    i = 0
  }
}
