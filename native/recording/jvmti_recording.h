/* The recording library: reads chunks of a recording, and messages, into
 * columns.
 *
 * The caller owns the chunk and every column.  Nothing in a chunk is trusted:
 * every function stays between data and data + size, writes no more than the
 * caller has said, and returns one of the codes below.  Positions are counted
 * from data.
 *
 * Numbers of a recording are written seven bits a byte, the lowest first; a
 * ninth byte has eight. A form has a letter for each field of a row:
 *
 *   n  such a number       b  one byte          f  four bytes, not read, 0
 *   d  eight bytes, not read, 0                 t  a text: its position
 *   s  such a number that has no column
 */
#ifndef JVMTI_RECORDING_H
#define JVMTI_RECORDING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum {
  JVMTI_RECORDING_OK = 0,
  JVMTI_RECORDING_OUT_OF_MEMORY = 1,
  JVMTI_RECORDING_DAMAGED = 2,
  JVMTI_RECORDING_BAD_ARGUMENT = 3
};

/* How often each type comes among the events from a position to the end of the
 * data. */
int32_t jvmti_recording_count(const void* data, uint64_t size, uint64_t begin, const int64_t* types,
                              uint64_t type_count, uint64_t* counts);

/* The positions of the contents of these events: all of the first type, then
 * all of the second. counts are those of jvmti_recording_count. */
int32_t jvmti_recording_places(const void* data, uint64_t size, uint64_t begin,
                               const int64_t* types, uint64_t type_count, const uint64_t* counts,
                               int64_t* places);

/* Fields of rows that have a column, one after the other, each with count
 * items.  Rows are at places; without these they follow each other from *at on,
 * which becomes the position behind the last one. */
int32_t jvmti_recording_rows(const void* data, uint64_t size, const int64_t* places, uint64_t count,
                             const char* form, uint64_t fields, int64_t* columns, uint64_t* at);

/* How many frames a row of stack traces has in all, and how many bytes are
 * behind at.  A trace is its number, a byte, the number of its frames, and
 * these, each in the form of a frame. */
int32_t jvmti_recording_measure_traces(const void* data, uint64_t size, uint64_t at, uint64_t count,
                                       const char* form, uint64_t fields, uint64_t* frames,
                                       uint64_t* behind);

/* Number, byte and number of frames of each trace, and the fields of all frames
 * as columns. frame_count is that of jvmti_recording_measure_traces. */
int32_t jvmti_recording_traces(const void* data, uint64_t size, uint64_t at, uint64_t count,
                               const char* form, uint64_t fields, uint64_t frame_count,
                               int64_t* ids, uint8_t* truncated, int64_t* depths, int64_t* columns);

/* The number of each value among the distinct ones, in the order of their
 * first. There is room for count of each. */
int32_t jvmti_recording_dense(const int64_t* values, uint64_t count, int32_t* numbers,
                              int64_t* different, uint64_t* distinct);

/* Rows of columns that are equal, in all of them, have one number: those of the
 * rows in the order of their first, whose row is in first.  There is room for
 * count of each. */
int32_t jvmti_recording_distinct(const int64_t* columns, uint64_t count, uint64_t fields,
                                 int32_t* numbers, int32_t* first, uint64_t* distinct);

/* The same for stacks: rows of frames between one of count + 1 offsets and the
 * next. */
int32_t jvmti_recording_distinct_stacks(const int64_t* offsets, uint64_t count,
                                        const int32_t* frames, uint64_t frame_count,
                                        int32_t* numbers, int32_t* first, uint64_t* distinct);

/* Fields of messages of Protocol Buffers, in their order: columns of the message, the field's
 * number, its value or the position of its content, and the position behind that; -1 for a number.
 * Fields of four and eight bytes are left out.  A column has that much room; found says how many
 * there are, so that a caller without enough asks again. */
int32_t jvmti_recording_fields(const void* data, uint64_t size, const int64_t* begins,
                               const int64_t* ends, uint64_t count, uint64_t room, int64_t* columns,
                               uint64_t* found);

/* The same for numbers that follow each other: columns of the range, and the
 * number. */
int32_t jvmti_recording_numbers(const void* data, uint64_t size, const int64_t* begins,
                                const int64_t* ends, uint64_t count, uint64_t room,
                                int64_t* columns, uint64_t* found);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
