/* The warehouse's log of names and the logs of tables (FORMAT.md, section 12).
 *
 * A commit to either log is one step, as in retention.pml. Each CREATE has a table UUID and a commit ID, generated
 * before the first attempt; two processes share them: the one that began, and the one that retries the request when
 * the first has died. A process that dies takes no further step; the second waits for no sign of it,
 * but no request of the first is in flight any more.
 *
 * Tables are identified by UUID: 1 and 2. Folder 1 is that of the name that both want; each table has
 * a second folder of its own, used if there is a live table in folder 1. */

#ifndef CREATES
#define CREATES 2
#endif
#ifndef REPEATS
#define REPEATS 1 /* processes that retry, for the first tables */
#endif
#ifndef DROPS
#define DROPS 2
#endif
#ifndef RENAMES
#define RENAMES 1
#endif
#ifndef STRANGERS
#define STRANGERS 1 /* catalogs opened on the folder of a table */
#endif
#define UUIDS 3
#define FOLDERS 4
#define bit(n) (1 << (n))

/* The warehouse: two names, each with a table's UUID, or 0; and the UUIDs whose name was ever committed. */
byte name[2];
byte named;

/* The logs of tables, by UUID, and by folder. */
mtype:life = {absent, alive, dropped};
mtype:life table[UUIDS] = absent;
byte folder_of[UUIDS];   /* the folder of the table; 0 until it is chosen */
byte living[FOLDERS];    /* the live table in a folder */
mtype:kind = {nothing, of_table, of_warehouse};
mtype:kind log_of[FOLDERS] = nothing; /* the kind of entries in a folder's log */

byte over;               /* UUIDs whose first process has died, and another one retries */
byte freed;              /* UUIDs whose name was dropped */

/* Scratch; see retention.pml. */
#ifdef BREADTH_FIRST
byte i;
#else
hidden byte i;
#endif

inline check() {
  d_step {
    i = 0;
    do
    :: i < 2 ->
       if
       :: name[i] != 0 ->
          assert(table[name[i]] != absent);      /* a_name_never_points_to_an_absent_table */
          assert(!(freed & bit(name[i])));       /* a_dropped_name_is_never_resurrected */
          assert(table[name[i]] != dropped);     /* a_name_points_to_a_live_table */
          assert(name[0] != name[1])             /* a_table_has_one_name */
       :: else -> skip
       fi;
       i++
    :: else -> break
    od;
    i = 1;
    do
    :: i < UUIDS -> assert(table[i] != alive || living[folder_of[i]] == i); i++ /* a_table_is_whole */
    :: else -> break
    od;
    i = 0
  }
}

inline drop_entry(id) {
  if
  :: table[id] == alive ->
     table[id] = dropped;
     living[folder_of[id]] = 0;
     printf("> put the drop entry of table %d\n", id)
  :: else
  fi
}

inline give_name(id) {
  name[0] = id;
  named = named | bit(id);
  printf("> create %d: put the name into the warehouse\n", id);
  check()
}

#define goes_on ((again && folder_of[id] != 0) || (!again && !(over & bit(id))))
#ifdef NO_LIVING_CHECK
#define is_living(id) true
#else
#define is_living(id) (table[id] == alive)
#endif

/* CREATE: choose the folder once; then write the table's log, then the name. */
proctype Create(byte id; bool again) {
end_place:
  atomic {
    goes_on ->
    if
    :: !again ->
       if
       :: name[0] != 0 -> printf("> create %d: the name is taken\n", id); goto done
       :: else
       fi;
       folder_of[id] = (living[1] == 0 -> 1 : id + 1);
       printf("> create %d: place the table in folder %d\n", id, folder_of[id])
    :: again -> over = over | bit(id); printf("> create %d: asked again, the first process is dead\n", id)
    fi
  }
#ifdef NAME_FIRST
end_name_first:
  atomic { goes_on -> give_name(id) }
#endif
end_table:
  atomic {
    goes_on ->
    if
    :: table[id] != absent -> printf("> create %d: its first entry is there\n", id)
    :: table[id] == absent && living[folder_of[id]] != 0 ->
       printf("> create %d: refused, another table is there\n", id);
       goto done
#ifndef NO_KIND_CHECK
    :: table[id] == absent && living[folder_of[id]] == 0 && log_of[folder_of[id]] == of_warehouse ->
       printf("> create %d: refused, a warehouse is there\n", id);
       goto done
#endif
    :: else ->
       assert(log_of[folder_of[id]] != of_warehouse); /* a_log_holds_entries_of_one_kind */
       log_of[folder_of[id]] = of_table;
       table[id] = alive;
       living[folder_of[id]] = id;
       printf("> create %d: put the first entry in folder %d\n", id, folder_of[id]);
       check()
    fi
  }
#ifndef NAME_FIRST
end_name:
  atomic {
    goes_on ->
    if
    :: name[0] == id || name[1] == id -> printf("> create %d: its name is there\n", id); goto done
#ifndef NO_NAME_SETTLEMENT
    :: name[0] != id && name[1] != id && (named & bit(id)) ->
       printf("> create %d: its name was there\n", id);
       goto done
#endif
    :: else ->
       if
       :: is_living(id) && name[0] == 0 -> give_name(id); goto done
       :: !is_living(id) -> printf("> create %d: its table was ended\n", id); goto done
       :: else -> printf("> create %d: the name was taken meanwhile\n", id)
       fi
    fi
  }
end_table_again:
  atomic { goes_on -> drop_entry(id); check() }
#endif
done:
  skip
}

#ifdef DROP_BY_NAME_ONLY
#define may_drop (name[0] != 0)
#else
#define may_drop (name[0] == found)
#endif

/* DROP of the first name, whichever table has it: free the name first. */
proctype Drop(byte id) {
  byte found;
end:
  atomic {
    name[0] != 0 ->
    found = name[0];
    printf("> drop %d: the name leads to table %d\n", id, found)
  }
#ifdef TABLE_DROPPED_FIRST
  atomic { drop_entry(found); check() }
#endif
  atomic {
    if
    :: may_drop ->
       freed = freed | bit(name[0]);
       name[0] = 0;
       printf("> drop %d: remove the name from the warehouse\n", id);
       check()
    :: else -> printf("> drop %d: refused, the name leads elsewhere\n", id); goto done
    fi
  }
  atomic { drop_entry(found); check() }
done:
  found = 0
}

/* RENAME: one entry of the warehouse's log. */
proctype Rename() {
end:
  atomic {
    name[0] != 0 && name[1] == 0 ->
    name[1] = name[0];
    name[0] = 0;
    printf("> rename: table %d has the other name\n", name[1]);
    check()
  }
}

/* Another process opens a catalog on folder 1 and creates a namespace there. */
proctype Stranger() {
  atomic {
    if
#ifndef NO_KIND_CHECK
    :: log_of[1] == of_table -> printf("> stranger: refused, a table is there\n")
#endif
    :: else ->
       assert(log_of[1] != of_table); /* a_log_holds_entries_of_one_kind */
       log_of[1] = of_warehouse;
       printf("> stranger: put a warehouse's entry into the log of folder 1\n")
    fi
  }
}

init {
  atomic {
    i = 1; do :: i <= CREATES -> run Create(i, false); i++ :: else -> break od;
    i = 1; do :: i <= REPEATS -> run Create(i, true); i++ :: else -> break od;
    i = 1; do :: i <= DROPS -> run Drop(i); i++ :: else -> break od;
    i = 0; do :: i < RENAMES -> run Rename(); i++ :: else -> break od;
    i = 0; do :: i < STRANGERS -> run Stranger(); i++ :: else -> break od;
    i = 0
  }
}
