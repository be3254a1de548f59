/* Transactions over the logs of two tables (FORMAT.md, section 19).
 *
 * Each transaction puts entries that are prepared into both logs, and is then decided by one put-if-absent. Writers of one
 * table, and transactions that want the same version, settle what they find undecided: they abort it. Waiting for a
 * while first only leaves out some of these histories. A process may stop before any step, since nobody waits for it.
 *
 * Transactions are numbered from 1. A log holds their numbers, or PLAIN for an entry of a single table. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef ENTRIES
#define ENTRIES 1 /* entries of a transaction in the first log */
#endif
#ifndef LENGTH
#define LENGTH 5
#endif
#define TABLES 2
#define PLAIN 100
#define at(t, v) ((t) * LENGTH + (v))
#define is_transaction(e) ((e) != PLAIN)
#define is_open(t, v) (is_transaction(log[at(t, v)]) && decision[log[at(t, v)]] == NONE)
#define bit(n) (1 << (n))

#define NONE 0
#define COMMIT 1
#define ABORT 2

byte log[TABLES * LENGTH];
byte length[TABLES];
byte decision[TRANSACTIONS + 1];  /* the file in the warehouse; entry 0 is not used */
byte copy[TABLES * LENGTH];       /* the file in the folder of a table */
byte acknowledged;                /* the transactions whose COMMIT was acknowledged */
byte put_entries[TRANSACTIONS + 1];

inline check_decision(e) {
  assert(decision[e] != ABORT || (acknowledged & bit(e)) == 0);              /* what_was_acknowledged_stays */
  assert(decision[e] != COMMIT || put_entries[e] == ENTRIES + 1)             /* a_commit_has_all_its_entries */
}

/* Decide a transaction, unless it is decided. */
#ifdef LOOK_THEN_DECIDE
inline put_decision(e, wish) {
  atomic { outcome = decision[e] }
  atomic {
    if
    :: outcome == NONE -> decision[e] = wish; outcome = wish
    :: else
    fi;
    printf("> decide %d: %d\n", e, outcome);
    check_decision(e)
  }
}
#else
inline put_decision(e, wish) {
  atomic {
    if
    :: decision[e] == NONE -> decision[e] = wish
    :: else
    fi;
    outcome = decision[e];
    printf("> decide %d: %d\n", e, outcome);
    check_decision(e)
  }
}
#endif

/* Copy a decision to the folder of a table. */
inline put_copy(t, v, what) {
  atomic {
    if
    :: copy[at(t, v)] == NONE -> copy[at(t, v)] = what; printf("> copy %d to table %d\n", what, t)
    :: else
    fi;
    assert(copy[at(t, v)] == decision[log[at(t, v)]])                        /* a_copy_says_what_was_decided */
  }
}

/* What a reader knows of an entry of a transaction. */
inline look(t, v) {
  atomic { outcome = copy[at(t, v)] }
  if
  :: outcome == NONE -> atomic { outcome = decision[log[at(t, v)]] }
  :: else
  fi
}

/* Settle the last entry of a log, if it is one of another transaction. */
inline settle(t, v, own) {
  if
  :: (v) > 0 && is_transaction(log[at(t, (v) - 1)]) && log[at(t, (v) - 1)] != own ->
#ifndef NO_SETTLEMENT
     look(t, (v) - 1);
     if
     :: outcome == NONE ->
#ifdef COPY_BEFORE_DECISION
        put_copy(t, (v) - 1, ABORT);
#endif
        put_decision(log[at(t, (v) - 1)], ABORT);
        put_copy(t, (v) - 1, outcome)
     :: else
     fi
#else
     skip
#endif
  :: else
  fi
}

/* Put an entry at the end of a log; has_put says whether. */
inline put_entry(t, v, e) {
  atomic {
    if
    :: length[t] == v && v < LENGTH ->
       assert(v == 0 || !is_open(t, v - 1) || log[at(t, v - 1)] == e);       /* nothing_follows_what_is_undecided */
       log[at(t, v)] = e;
       length[t]++;
       has_put = true;
       if
       :: is_transaction(e) -> put_entries[e]++
       :: else
       fi;
       printf("> put %d at %d of table %d\n", e, v, t)
    :: else -> has_put = false
    fi
  }
}

proctype Transaction(byte id) {
  byte t, v, outcome, number;
  bool has_put;
  t = 0;
  do
  :: t < TABLES ->
#ifdef DECIDED_EARLY
     if
     :: t == 1 -> put_decision(id, COMMIT)
     :: else
     fi;
#endif
     number = 0;
     do
     :: number < (t == 0 -> ENTRIES : 1) ->
        atomic { v = length[t] }
        if
        :: v == LENGTH -> goto done
        :: number > 0 && log[at(t, v - 1)] != id -> goto done /* another writer settled it */
        :: else
        fi;
        settle(t, v, id);
        put_entry(t, v, id);
        if
        :: has_put -> number++
        :: else
        fi
     :: else -> break
     od;
     t++
  :: else -> break
  od;
  put_decision(id, COMMIT);
  atomic {
    if
    :: outcome == COMMIT -> acknowledged = acknowledged | bit(id); printf("> acknowledge %d\n", id)
    :: else
    fi
  }
done:
  skip
}

proctype Write(byte t) {
  byte v, outcome;
  bool has_put;
  do
  :: true ->
     atomic { v = length[t] }
     if
     :: v == LENGTH -> break
     :: else
     fi;
     settle(t, v, 0);
     put_entry(t, v, PLAIN);
     if
     :: has_put -> break
     :: else
     fi
  od
}

/* Read a table: which transactions are seen, and the version that is seen. */
inline read_table(t, seen, version) {
  atomic { end = length[t]; version = 0; seen = 0; counted = 0 }
  do
  :: version < end ->
     if
     :: is_transaction(log[at(t, version)]) ->
        look(t, version);
        if
#ifdef UNDECIDED_SHOWN
        :: outcome == COMMIT || outcome == NONE ->
#else
        :: outcome == NONE -> break
        :: outcome == COMMIT ->
#endif
           seen = seen | bit(log[at(t, version)]);
           counted++;
#ifndef STALE_PAGE
           atomic { end = length[t] }
#endif
        :: outcome == ABORT
        fi
     :: else
     fi;
     atomic { version++; outcome = NONE }
  :: else -> break
  od
}

inline number_of(seen) {
  d_step {
    i = 1; number = 0;
    do
    :: i <= TRANSACTIONS -> number = number + ((seen & bit(i)) != 0 -> 1 : 0); i++
    :: else -> break
    od;
    i = 0
  }
}

proctype Read() {
  byte first, second, version, later, end, outcome, counted, number, i, ignored, before;
  atomic { before = acknowledged }
  read_table(0, first, version);
  number_of(first);
  assert(counted == number * ENTRIES);                                      /* a_table_shows_all_entries_of_a_transaction */
  assert((before & ~first) == 0);                                           /* what_was_acknowledged_is_seen */
  read_table(1, second, later);
  assert((first & ~second) == 0);                                           /* what_one_table_shows_the_next_shows */
#ifndef NO_SECOND_LOOK
  read_table(0, ignored, later);
#else
  later = version;
#endif
  printf("> read %d and %d\n", first, second);
  assert(later != version || first == second)                               /* a_transaction_reads_one_moment */
}

init {
  byte n;
  atomic {
    n = 1;
    do
    :: n <= TRANSACTIONS -> run Transaction(n); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < WRITERS -> run Write(n % TABLES); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < READERS -> run Read(); n++
    :: else -> break
    od
  }
}
