/* The heap library: reads a heap dump (HPROF 1.0.1 and 1.0.2) into columns and answers
 * questions about its graph of objects.
 *
 * The caller maps the file and keeps it mapped until jvmti_heap_close.  The library owns the
 * columns; they stay where they are until then, and the file may be looked into through the
 * offsets in them.  Every function gives one of the codes below; nothing in the file is
 * trusted, and no length that it states is allocated before it is known to fit into it.
 *
 * Widths.  An object is an index of 32 bits, so a dump may hold 2^32 - 2 objects; positions in
 * the file, sizes and, where there may be more than 2^32 - 1 of them, references are counted in
 * 64 bits.  More objects would need wider items in the columns "class", "targets" and "idom"
 * and in the working arrays of dominators.cpp, about 1.6 times the memory; no format and no
 * algorithm stands in the way.
 *
 * Memory.  Per object: 8 bytes of position, 4 class, 4 extent, 4 row (8 with very many
 * references), about 1 to find an object by its address, 4 more where the dump is not in the
 * order of addresses; 4 per reference.  Dominators and retained sizes add 12 that stay and
 * at most 24 + 12 per reference while they are computed.
 */
#ifndef JVMTI_HEAP_H
#define JVMTI_HEAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum {
  JVMTI_HEAP_OK = 0,
  JVMTI_HEAP_OUT_OF_MEMORY = 1,
  JVMTI_HEAP_NOT_A_DUMP = 2,
  JVMTI_HEAP_BAD_ARGUMENT = 3,
  JVMTI_HEAP_CANCELLED = 4,
  JVMTI_HEAP_TOO_MANY_OBJECTS = 5
};

/* No object, no class, no string: in every column of indices. */
#define JVMTI_HEAP_NONE 0xFFFFFFFFu

/* Highest bit of an extent: the object is a class, and the rest is the class's index. */
#define JVMTI_HEAP_IS_CLASS 0x80000000u

/* How far a long call has come; another thread may read it, and set cancel. */
typedef struct {
  uint64_t done; /* of total, in the step that is under way */
  uint64_t total;
  int32_t step;   /* 1 records, 2 references, 3 dominators */
  int32_t cancel; /* set to anything but 0: the call ends soon with JVMTI_HEAP_CANCELLED */
} jvmti_heap_progress;

typedef struct jvmti_heap_dump jvmti_heap_dump;

/* The items of the columns that are tables. */

typedef struct {
  uint64_t id;
  uint64_t position; /* of the text, in Java's own kind of UTF-8 */
  uint32_t length;   /* in bytes */
  uint32_t unused;
} jvmti_heap_string;

enum {
  JVMTI_HEAP_HELD = 1,   /* its loader is the VM's own: never unloaded */
  JVMTI_HEAP_DUMPED = 2, /* there is a record of its fields */
  JVMTI_HEAP_WEAK = 4,   /* java.lang.ref.WeakReference or below it, and so on */
  JVMTI_HEAP_SOFT = 8,
  JVMTI_HEAP_PHANTOM = 16,
  JVMTI_HEAP_FINAL = 32,
  JVMTI_HEAP_REFERENCE = 64,   /* java.lang.ref.Reference or below it */
  JVMTI_HEAP_CLASS_EDGE = 128, /* the first reference of its objects is the class */
  JVMTI_HEAP_MEASURED = 256    /* the size was seen in the dump, or given */
};

typedef struct {
  uint64_t id;
  uint64_t layout_bytes;      /* what the fields of an object take in the file, superclasses' too */
  uint64_t own_bytes;         /* those it declares itself; they come first */
  uint64_t class_object_size; /* of the class object itself */
  uint32_t name;              /* a string, as the file has it: java/lang/String, [I */
  uint32_t super;             /* a class */
  uint32_t object;            /* the class object */
  uint32_t loader;            /* an object */
  uint32_t first_field;       /* in the column of fields, statics first */
  uint32_t statics;
  uint32_t fields;
  uint32_t serial;
  uint32_t element; /* of an array: 2 for objects, 4 to 11 as in the file; otherwise 0 */
  uint32_t size;    /* of an object, or of an array's header; bytes in the VM */
  uint32_t stride;  /* of an array's elements, in the VM; otherwise 0 */
  uint32_t flags;
  /* Where the references are, for the library itself. */
  uint32_t first_reference;
  uint32_t references;
  uint32_t next; /* the nearest class above that declares references */
  uint32_t unused;
  uint64_t next_offset; /* of its fields, from the start of this class's */
} jvmti_heap_class;

typedef struct {
  uint64_t value;  /* of a static field: the bits, or for a reference the address */
  uint64_t offset; /* of another: within the fields of its class */
  uint32_t name;
  uint32_t class_index;
  uint32_t
      type; /* 2 object, 4 boolean, 5 char, 6 float, 7 double, 8 byte, 9 short, 10 int, 11 long */
  uint32_t is_static;
} jvmti_heap_field;

/* Kinds of roots are those of the file; this one is ours: a class whose loader the VM holds. */
#define JVMTI_HEAP_ROOT_HELD_CLASS 0x100u

typedef struct {
  uint32_t object;
  uint32_t kind;
  uint32_t thread; /* serial number, or NONE */
  uint32_t frame;  /* depth, or NONE; of a thread object its stack trace's serial */
} jvmti_heap_root;

typedef struct {
  uint64_t id;
  uint32_t method; /* strings */
  uint32_t signature;
  uint32_t source;
  uint32_t class_serial;
  int32_t line; /* -1 unknown, -2 compiled, -3 native */
  uint32_t unused;
} jvmti_heap_frame;

typedef struct {
  uint64_t first; /* in the column of frame identifiers */
  uint32_t serial;
  uint32_t thread;
  uint32_t frames;
  uint32_t unused;
} jvmti_heap_trace;

enum {
  JVMTI_HEAP_POSITIONS = 0, /* uint64 per object: where its record is in the file */
  JVMTI_HEAP_CLASS_OF = 1,  /* uint32 per object */
  JVMTI_HEAP_EXTENT = 2,    /* uint32 per object: length of an array; see IS_CLASS */
  JVMTI_HEAP_ROWS = 3,      /* uint32 or uint64 per object and one: where its targets are */
  JVMTI_HEAP_TARGETS = 4,   /* uint32 per reference that is not null */
  JVMTI_HEAP_CLASSES = 5,
  JVMTI_HEAP_FIELDS = 6,
  JVMTI_HEAP_STRINGS = 7,
  JVMTI_HEAP_ROOTS = 8,
  JVMTI_HEAP_FRAMES = 9,
  JVMTI_HEAP_TRACES = 10,
  JVMTI_HEAP_FRAME_IDS = 11, /* uint64 */
  JVMTI_HEAP_SEGMENTS = 12,  /* uint64 pairs: begin and end of what holds objects */
  JVMTI_HEAP_LEFT_OUT = 13   /* uint64 per root that is left out: where its record is */
};

/* What is known of the whole. */
typedef struct {
  uint64_t milliseconds; /* since 1970: when the dump was made */
  uint64_t objects;
  uint64_t references;
  uint64_t dangling;        /* references to what is not in the dump */
  uint64_t misshapen;       /* objects whose record does not fit their class */
  uint64_t duplicates;      /* addresses that several records have */
  uint64_t fault_position;  /* where the file stopped making sense */
  uint64_t faults;          /* in how many places; 0 for a sound file */
  uint64_t skipped;         /* bytes that were left out because of them */
  uint32_t identifier_size; /* 4 or 8 */
  uint32_t version;         /* 101 or 102: HPROF 1.0.1, 1.0.2 */
  uint32_t reference_size;  /* in the VM: 4 with compressed pointers */
  uint32_t header_size;     /* of an object in the VM: 8, 12 or 16 */
  uint32_t alignment;       /* of objects in the VM */
  uint32_t in_order;        /* whether records come in the order of addresses */
  char fault[160];          /* what was wrong, in words */
} jvmti_heap_summary;

/* JNI global references by their addresses: all, and those of them that refer to threads. */
typedef struct {
  const uint64_t* all;
  uint64_t count;
  const uint64_t* threads;
  uint64_t thread_count;
} jvmti_heap_references;

/* left_out (or NULL) are the references of the tool that had the heap dumped: they are no roots of
 * the program's, and neither are such threads with what is on their stacks. */
int32_t jvmti_heap_open(const void* file, uint64_t size, uint32_t threads,
                        jvmti_heap_progress* progress, const jvmti_heap_references* left_out,
                        jvmti_heap_dump** made);
void jvmti_heap_close(jvmti_heap_dump* dump);
int32_t jvmti_heap_summarize(const jvmti_heap_dump* dump, jvmti_heap_summary* summary,
                             uint64_t size);
int32_t jvmti_heap_column(const jvmti_heap_dump* dump, uint32_t which, const void** data,
                          uint64_t* count, uint64_t* item_size);

/* Replaces the sizes of objects of some classes by real ones, in bytes. */
int32_t jvmti_heap_set_sizes(jvmti_heap_dump* dump, const uint32_t* classes, const uint32_t* sizes,
                             uint64_t count);

/* objects may be NULL: all of them, count being their number. */
int32_t jvmti_heap_sizes(const jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                         uint64_t* sizes);
int32_t jvmti_heap_addresses(const jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                             uint64_t* addresses);
int32_t jvmti_heap_find(jvmti_heap_dump* dump, const uint64_t* addresses, uint64_t count,
                        uint32_t* objects);

/* Counts and bytes per class; chosen is NULL or a byte per object, 0 to leave it out. */
int32_t jvmti_heap_histogram(const jvmti_heap_dump* dump, const uint8_t* chosen, uint64_t* counts,
                             uint64_t* bytes, uint64_t classes);

/* The value of a field: offsets has one per class, from the start of an object's fields, or -1.
 * width is 1, 2, 4, 8 (values in the machine's order), or 0 for a reference (uint32 indices).
 * An object whose class has no offset gives 0, or NONE. */
int32_t jvmti_heap_read_fields(jvmti_heap_dump* dump, const uint32_t* objects, uint64_t count,
                               const int64_t* offsets, uint64_t classes, uint32_t width,
                               void* values);
/* The elements of one array of objects, nulls being NONE. */
int32_t jvmti_heap_read_elements(jvmti_heap_dump* dump, uint32_t object, uint32_t* elements,
                                 uint64_t count);
/* The text in arrays: byte[] (coders 0 Latin-1, 1 UTF-16) or char[] as UTF-8, lone surrogates
 * encoded like any other.  ends has one item per array.  With data NULL only the ends are
 * computed; a longer text than most bytes is cut (0: never). */
int32_t jvmti_heap_read_text(const jvmti_heap_dump* dump, const uint32_t* arrays,
                             const uint8_t* coders, uint64_t count, uint64_t most, uint64_t* ends,
                             uint8_t* data, uint64_t room);
/* A hash of the contents of primitive arrays; 0 for anything else. */
int32_t jvmti_heap_hash_arrays(const jvmti_heap_dump* dump, const uint32_t* arrays, uint64_t count,
                               uint64_t* hashes);

/* without: flags of the kinds of reference objects whose referent is not followed. */

/* A byte per object: 1 where it can be reached; without passing objects whose byte in avoided
 * (or NULL) is not 0. */
int32_t jvmti_heap_reach(const jvmti_heap_dump* dump, uint32_t without, const uint8_t* avoided,
                         jvmti_heap_progress* progress, uint8_t* reached, uint64_t count);
/* Immediate dominators: an object, the number of objects for the root above all, NONE for
 * what cannot be reached; retained sizes in bytes, one more for the root. */
int32_t jvmti_heap_dominators(const jvmti_heap_dump* dump, uint32_t without,
                              jvmti_heap_progress* progress, uint32_t* idom, uint64_t idoms,
                              uint64_t* retained, uint64_t retaineds);
/* The dominator tree downwards: rows has two more items than there are objects. */
int32_t jvmti_heap_children(const jvmti_heap_dump* dump, const uint32_t* idom, uint64_t idoms,
                            uint64_t* rows, uint64_t row_count, uint32_t* children,
                            uint64_t child_count);
/* Per group of classes: what their objects retain, those below another of the group not counted
 * again.  A class object counts as java.lang.Class's or, with as_itself, as of the class it is. */
int32_t jvmti_heap_retained_by_group(const jvmti_heap_dump* dump, const uint32_t* group_of_class,
                                     uint64_t classes, uint32_t as_itself, const uint64_t* rows,
                                     uint64_t row_count, const uint32_t* children,
                                     uint64_t child_count, const uint64_t* retained,
                                     uint64_t retaineds, uint64_t* totals, uint64_t groups);
/* What a place is on the ways to some objects. */
enum {
  JVMTI_HEAP_ON_WAY = 1, /* they lead through it */
  JVMTI_HEAP_CHOSEN = 2, /* it is one of the objects */
};

/* How far a search for shortest ways has come; 0 at the beginning. */
typedef struct {
  uint64_t reached;  /* places that there are */
  uint64_t followed; /* those of them whose references are behind it */
} jvmti_heap_search;

/* Shortest ways from some objects, or from the roots of the dump where roots is NULL, until they
 * lead to each of the wanted objects, or to all that there are ways to.  order has the objects
 * nearest first, as far as the search has come; above for each place in it that of the object
 * before it on the way, NONE for a root; marks, all 0 before, the flag below for those that are
 * wanted.  They have room for all objects, and seen a bit for each and a byte more.  A call with
 * what another has left in search, seen, order and above goes on from there. */
int32_t jvmti_heap_shortest(const jvmti_heap_dump* dump, uint32_t without, const uint32_t* roots,
                            uint64_t root_count, const uint32_t* wanted, uint64_t wanted_count,
                            jvmti_heap_progress* progress, jvmti_heap_search* search, uint8_t* seen,
                            uint64_t seen_bytes, uint32_t* order, uint32_t* above, uint8_t* marks,
                            uint64_t count);
/* The places that the ways to chosen ones lead through: flags for each place, as above. */
int32_t jvmti_heap_mark_ways(const uint32_t* above, uint64_t reached, uint8_t* marks);
/* The marked places in order, and for each where in this list its parent is, NONE for a root;
 * room is how many are marked. */
int32_t jvmti_heap_gather_ways(const uint32_t* above, uint64_t reached, const uint8_t* marks,
                               uint32_t* places, uint32_t* parents, uint64_t room);
/* Adds to the number of each in such a list those of all below it. */
int32_t jvmti_heap_sum_ways(const uint32_t* parents, uint64_t count, uint64_t* sums);
/* The references to chosen objects (a byte per object): pairs of source and target, in the order
 * of sources.  *found is how many there are, of which at most room are written. */
int32_t jvmti_heap_referrers(const jvmti_heap_dump* dump, const uint8_t* chosen, uint64_t count,
                             uint32_t* sources, uint32_t* targets, uint64_t room, uint64_t* found);

/* Writes the dump without the roots that are left out and without objects whose byte in kept (or
 * NULL) is 0.  What it is taken from is the file, or a copy of it of the same size, such as one
 * with blanked contents.  *size is what it takes; with copy NULL nothing is written. */
int32_t jvmti_heap_copy(const jvmti_heap_dump* dump, const uint8_t* kept, uint64_t count,
                        const void* source, void* copy, uint64_t room, uint64_t* size);

/* Blanks contents in a copy of the file: those of primitive arrays whose byte in blanked is not
 * 0, and of fields (type and offset as in read_fields, one call for each field). */
int32_t jvmti_heap_blank_arrays(const jvmti_heap_dump* dump, const uint8_t* blanked, uint64_t count,
                                void* copy, uint64_t size);
int32_t jvmti_heap_blank_fields(const jvmti_heap_dump* dump, const int64_t* offsets,
                                uint64_t classes, uint32_t width, void* copy, uint64_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
