/* DELETE and UPDATE by copy on write and by marks, append, compaction, ALTER and rollback on one table
 * without a primary key (FORMAT.md, sections 5, 6.4 and 11; isolation=snapshot).
 *
 * Rows and columns have IDs, and a value is 1 (written by a user) or 0 (the read
 * default). Beside the log, the model has what a user expects: the rows of every version, and the values of
 * each column ID. Every commit is checked against that.
 *
 * Planning, reading and writing segments is one step, since a snapshot does not change; the commit is
 * one step, as in retention.pml. A process may stop between the two. */

#ifndef DELETES
#define DELETES 1
#endif
#ifndef UPDATES
#define UPDATES 1
#endif
#ifndef APPENDS
#define APPENDS 1
#endif
#ifndef COMPACTIONS
#define COMPACTIONS 1
#endif
#ifndef DROPS
#define DROPS 1
#endif
#ifndef MARK_DELETES
#define MARK_DELETES 0
#endif
#ifndef MARK_UPDATES
#define MARK_UPDATES 0
#endif
#ifndef ADDS
#define ADDS 1
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 1
#endif
#define WRITES (DELETES + UPDATES + APPENDS + COMPACTIONS + MARK_UPDATES)
#define VERSIONS (1 + WRITES + MARK_DELETES + DROPS + ADDS + ROLLBACKS)
#define SEGMENTS (1 + WRITES)
#define IDS 4 /* column IDs 1 to 3 */
#define X 1   /* the ID of the column that is dropped */
#define bit(n) (1 << (n))

/* Segments: rows, the column IDs that the file has, and the rows whose value of an ID is 1. */
byte rows[SEGMENTS];
byte columns[SEGMENTS];
byte value[SEGMENTS * IDS];

/* States, by version. */
byte newest;
byte schema[VERSIONS];
byte next_id[VERSIONS];
byte live[VERSIONS];
byte marked[VERSIONS * SEGMENTS]; /* the marked rows of each live segment */
short rolled_back; /* the versions that rollbacks committed */

/* What a user expects. */
byte want_rows[VERSIONS];
byte want[VERSIONS * IDS];

/* Scratch; see retention.pml. */
#ifdef BREADTH_FIRST
byte i, j, seen, shown, ok;
#else
hidden byte i, j, seen, shown, ok;
#endif

/* A segment whose commit was refused is removed from the state. */
inline forget() {
  d_step {
    rows[segment] = 0;
    columns[segment] = 0;
    j = 1;
    do
    :: j < IDS -> value[segment * IDS + j] = 0; j++
    :: else -> break
    od;
    j = 0
  }
}

inline append_entry() {
  newest++;
  schema[newest] = schema[newest - 1];
  next_id[newest] = next_id[newest - 1];
  live[newest] = live[newest - 1];
  i = 0;
  do
  :: i < SEGMENTS -> marked[newest * SEGMENTS + i] = marked[(newest - 1) * SEGMENTS + i]; i++
  :: else -> break
  od;
  want_rows[newest] = want_rows[newest - 1];
  i = 1;
  do
  :: i < IDS -> want[newest * IDS + i] = want[(newest - 1) * IDS + i]; i++
  :: else -> break
  od;
  i = 0
}

/* The rows of a segment that a version shows. */
#define rows_at(version, segment) (rows[segment] & ~marked[(version) * SEGMENTS + segment])

/* The table shows the expected rows and values. */
inline check() {
  d_step {
    seen = 0;
    i = 0;
    do
    :: i < SEGMENTS ->
       if
       :: live[newest] & bit(i) ->
          assert(!(seen & rows_at(newest, i))); /* every_row_exists_once */
          seen = seen | rows_at(newest, i)
       :: else -> marked[newest * SEGMENTS + i] = 0 /* a mark leaves with its segment */
       fi;
       i++
    :: else -> break
    od;
    assert(seen == want_rows[newest]); /* rows_are_those_of_the_commits */
    j = 1;
    do
    :: j < IDS ->
       if
       :: schema[newest] & bit(j) ->
          shown = 0;
          i = 0;
          do
          :: i < SEGMENTS ->
             if
             :: (live[newest] & bit(i)) && (columns[i] & bit(j)) ->
                shown = shown | (value[i * IDS + j] & rows_at(newest, i))
             :: else -> skip
             fi;
             i++
          :: else -> break
          od;
          assert(shown == (want[newest * IDS + j] & want_rows[newest])) /* no_value_of_an_ID_is_lost */
       :: else -> skip
       fi;
       j++
    :: else -> break
    od;
    i = 0; j = 0; seen = 0; shown = 0
  }
}

/* Copy the rows `which` of the segments `from` into a new one, under the schema of `base`. */
inline copy(from, which) {
  d_step {
    columns[segment] = schema[base];
    rows[segment] = 0;
    i = 0;
    do
    :: i < SEGMENTS ->
       if
       :: (from) & bit(i) ->
          rows[segment] = rows[segment] | (rows_at(base, i) & (which));
          j = 1;
          do
          :: j < IDS ->
             if
             :: schema[base] & columns[i] & bit(j) ->
                value[segment * IDS + j] = value[segment * IDS + j] | (value[i * IDS + j] & rows_at(base, i) & (which))
             :: else -> skip
             fi;
             j++
          :: else -> break
          od
       :: else -> skip
       fi;
       i++
    :: else -> break
    od;
    i = 0; j = 0
  }
}

/* The live segment of a version that has a row, as a set. */
inline holding(row) {
  d_step {
    removed = 0;
    i = 0;
    do
    :: i < SEGMENTS ->
       if
       :: (live[base] & bit(i)) && (rows_at(base, i) & bit(row)) -> removed = bit(i)
       :: else -> skip
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* Whether a rewrite can follow the newest state (section 11, note 4, and restored columns). */
#ifdef NO_LIVE_CHECK
#define is_live true
#else
#define is_live ((live[newest] & removed) == removed)
#endif
#ifdef NO_COLUMN_CHECK
#define has_all_columns true
#else
/* A current column that the base lacks, with an ID below the base's next one, was restored by a rollback. */
#define has_all_columns (!(schema[newest] & ~schema[base] & (bit(next_id[base]) - 1)))
#endif

#ifdef COMPACTION_IGNORES_ROLLBACK
#define not_rolled_back true
#else
#define not_rolled_back (!(rolled_back & ~(bit(base + 1) - 1)))
#endif

/* Whether copies still have the rows that their segments show (section 11, note 19): `ok`. */
inline compare_marks() {
  d_step {
    ok = 1;
#ifndef COPIES_IGNORE_MARKS
    i = 0;
    do
    :: i < SEGMENTS ->
       if
       :: (removed & bit(i)) && marked[newest * SEGMENTS + i] != marked[base * SEGMENTS + i] -> ok = 0
       :: else -> skip
       fi;
       i++
    :: else -> break
    od;
    i = 0
#endif
  }
}

/* DELETE of row 1: the other rows of its segment are copied. */
proctype Delete(byte segment) {
  byte base, removed;
  atomic {
    base = newest;
    holding(1);
    if
    :: removed == 0 -> goto done
    :: else
    fi;
    copy(removed, ~bit(1));
    printf("> delete: plan on version %d, copy row 0 into segment %d\n", base, segment)
  }
  atomic {
    compare_marks();
    if
    :: is_live && has_all_columns && ok ->
       append_entry();
       live[newest] = (live[newest] & ~removed) | bit(segment);
       want_rows[newest] = want_rows[newest] & ~bit(1);
       printf("> delete: put log/%d\n", newest);
       check()
    :: else -> printf("> delete: refused\n"); forget()
    fi
  }
done:
  atomic { base = 0; segment = 0; removed = 0 }
}

/* UPDATE of row 1: its segment is copied, with 1 as the value of the oldest column. */
proctype Update(byte segment) {
  byte base, removed, column;
  atomic {
    base = newest;
    holding(1);
    column = 1;
    do
    :: column < IDS && !(schema[base] & bit(column)) -> column++
    :: else -> break
    od;
    if
    :: removed == 0 || column == IDS -> goto done
    :: else
    fi;
    copy(removed, 255);
    value[segment * IDS + column] = value[segment * IDS + column] | bit(1);
    printf("> update: plan on version %d, copy into segment %d, column ID %d of row 1\n", base, segment, column)
  }
  atomic {
    compare_marks();
    if
    :: is_live && has_all_columns && ok ->
       append_entry();
       live[newest] = (live[newest] & ~removed) | bit(segment);
       want[newest * IDS + column] = want[newest * IDS + column] | bit(1);
       printf("> update: put log/%d\n", newest);
       check()
    :: else -> printf("> update: refused\n"); forget()
    fi
  }
done:
  atomic { base = 0; segment = 0; removed = 0; column = 0 }
}

/* What the commit of marks checks and writes (section 11, note 19). */
#ifdef MARKED_TWICE
#define is_new(row) true
#else
#define is_new(row) (!(marked[newest * SEGMENTS + old] & bit(row)))
#endif
#ifdef MARK_REPLACES
#define before_mark marked[base * SEGMENTS + old]
#else
#define before_mark marked[newest * SEGMENTS + old]
#endif

/* Find the segment `old` that has a row, as a number, and as the set `removed`. */
inline find(row) {
  holding(row);
  old = 0;
  do
  :: removed & ~bit(old) -> old++
  :: else -> break
  od
}

/* Mark a row of `old`; if all are marked then, the segment is removed. */
inline mark(row) {
  marked[newest * SEGMENTS + old] = before_mark | bit(row);
  if
  :: !rows_at(newest, old) -> live[newest] = live[newest] & ~removed
  :: else -> skip
  fi
}

/* DELETE of row 0 or 1 by a mark. */
proctype Mark_delete(byte row) {
  byte base, removed, old;
  atomic {
    base = newest;
    find(row);
    if
    :: removed == 0 -> goto done
    :: else
    fi;
    printf("> delete by mark: plan on version %d, row %d of segment %d\n", base, row, old)
  }
  atomic {
    if
    :: is_live && is_new(row) ->
       append_entry();
       mark(row);
       want_rows[newest] = want_rows[newest] & ~bit(row);
       printf("> delete by mark: put log/%d\n", newest);
       check()
    :: else -> printf("> delete by mark: refused\n")
    fi
  }
done:
  atomic { base = 0; row = 0; removed = 0; old = 0 }
}

/* UPDATE of row 1 by a mark: the row alone is copied, with 1 as the value of the oldest column. */
proctype Mark_update(byte segment) {
  byte base, removed, old, column;
  atomic {
    base = newest;
    find(1);
    column = 1;
    do
    :: column < IDS && !(schema[base] & bit(column)) -> column++
    :: else -> break
    od;
    if
    :: removed == 0 || column == IDS -> goto done
    :: else
    fi;
    copy(removed, bit(1));
    value[segment * IDS + column] = value[segment * IDS + column] | bit(1);
    printf("> update by mark: plan on version %d, row 1 of segment %d into segment %d\n", base, old, segment)
  }
  atomic {
    if
    :: is_live && is_new(1) && has_all_columns ->
       append_entry();
       mark(1);
       live[newest] = live[newest] | bit(segment);
       want[newest * IDS + column] = want[newest * IDS + column] | bit(1);
       printf("> update by mark: put log/%d\n", newest);
       check()
    :: else -> printf("> update by mark: refused\n"); forget()
    fi
  }
done:
  atomic { base = 0; segment = 0; removed = 0; old = 0; column = 0 }
}

/* Append of row 2; it copies nothing, and is never refused here. */
proctype Append(byte segment) {
  byte base;
  atomic {
    base = newest;
    rows[segment] = bit(2);
    columns[segment] = schema[base];
    j = 1;
    do
    :: j < IDS ->
       if
       :: schema[base] & bit(j) -> value[segment * IDS + j] = bit(2)
       :: else -> skip
       fi;
       j++
    :: else -> break
    od;
    j = 0;
    printf("> append: plan on version %d, write row 2 into segment %d\n", base, segment)
  }
  atomic {
    append_entry();
    live[newest] = live[newest] | bit(segment);
    want_rows[newest] = want_rows[newest] | bit(2);
    j = 1;
    do
    :: j < IDS ->
       want[newest * IDS + j] = (want[newest * IDS + j] & ~bit(2)) | value[segment * IDS + j];
       j++
    :: else -> break
    od;
    j = 0;
    printf("> append: put log/%d\n", newest);
    check();
    base = 0;
    segment = 0
  }
}

/* Compaction of all segments into one, in the schema of its base (section 11, note 13). */
proctype Compact(byte segment) {
  byte base, removed;
  atomic {
    base = newest;
    removed = live[base];
    copy(removed, 255);
    printf("> compact: plan on version %d, copy all into segment %d\n", base, segment)
  }
  atomic {
    compare_marks();
    if
    :: is_live && not_rolled_back && ok ->
       append_entry();
       live[newest] = (live[newest] & ~removed) | bit(segment);
       printf("> compact: put log/%d\n", newest);
       check()
    :: else -> printf("> compact: refused\n"); forget()
    fi;
    base = 0;
    segment = 0;
    removed = 0
  }
}

/* ALTER: applied by ID to the newest state. */
proctype Drop_column() {
end:
  atomic {
    schema[newest] & bit(X) ->
    append_entry();
    schema[newest] = schema[newest] & ~bit(X);
    printf("> alter: put log/%d, drops column ID %d\n", newest, X);
    check()
  }
}

proctype Add_column() {
  atomic {
    append_entry();
    schema[newest] = schema[newest] | bit(next_id[newest]);
    want[newest * IDS + next_id[newest]] = 0;
    printf("> alter: put log/%d, adds column ID %d\n", newest, next_id[newest]);
    next_id[newest] = next_id[newest] + 1;
    check()
  }
}

/* Rollback to any earlier version; refused if there is a commit that it has not seen. */
proctype Rollback(byte id) {
  byte base, to;
end:
  atomic {
    newest > 0 ->
    base = newest;
    do
    :: to < base - 1 -> to++
    :: break
    od;
    printf("> rollback %d: plan on version %d, to version %d\n", id, base, to)
  }
  atomic {
    if
    :: newest == base ->
       append_entry();
       schema[newest] = schema[to];
       live[newest] = live[to];
       i = 0;
       do
       :: i < SEGMENTS ->
#ifdef ROLLBACK_KEEPS_MARKS
          if
          :: live[newest - 1] & bit(i) -> skip
          :: else -> marked[newest * SEGMENTS + i] = 0
          fi;
#else
          marked[newest * SEGMENTS + i] = marked[to * SEGMENTS + i];
#endif
          i++
       :: else -> break
       od;
       want_rows[newest] = want_rows[to];
       i = 1;
       do
       :: i < IDS -> want[newest * IDS + i] = want[to * IDS + i]; i++
       :: else -> break
       od;
       i = 0;
       rolled_back = rolled_back | bit(newest);
       printf("> rollback %d: put log/%d, as version %d was\n", id, newest, to);
       check()
    :: else -> printf("> rollback %d: refused\n", id)
    fi;
    base = 0;
    to = 0
  }
}

/* Version 0: column X, rows 0 and 1 in one segment, the value of row 0 is 1. */
init {
  atomic {
    rows[0] = bit(0) | bit(1);
    columns[0] = bit(X);
    value[X] = bit(0);
    schema[0] = bit(X);
    next_id[0] = X + 1;
    live[0] = bit(0);
    want_rows[0] = rows[0];
    want[X] = bit(0);
    j = 1;
    i = 0; do :: i < DELETES -> run Delete(j); j++; i++ :: else -> break od;
    i = 0; do :: i < UPDATES -> run Update(j); j++; i++ :: else -> break od;
    i = 0; do :: i < APPENDS -> run Append(j); j++; i++ :: else -> break od;
    i = 0; do :: i < MARK_UPDATES -> run Mark_update(j); j++; i++ :: else -> break od;
    i = 0; do :: i < MARK_DELETES -> run Mark_delete(i); i++ :: else -> break od;
    i = 0; do :: i < COMPACTIONS -> run Compact(j); j++; i++ :: else -> break od;
    i = 0; do :: i < DROPS -> run Drop_column(); i++ :: else -> break od;
    i = 0; do :: i < ADDS -> run Add_column(); i++ :: else -> break od;
    i = 0; do :: i < ROLLBACKS -> run Rollback(i + 1); i++ :: else -> break od;
    i = 0;
    j = 0
  }
}
