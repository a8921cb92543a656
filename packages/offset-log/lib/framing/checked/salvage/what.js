'use strict'
// The words for what may be wrong with a range of a file.

exports.WHAT = Object.freeze({
  FILLER: 'the zeros at a page\'s end',
  ZEROS: 'zeros where there were chunks',
  HEADER: 'the header of a chunk, whose records are whole',
  DATA: 'the records of a chunk',
  CHUNKS: 'chunks',
  LINK: 'chunks of a write that was taken back',
  SLOT: 'chunks that the last checkpoint does not know',
  PLACE: 'a chunk that belongs elsewhere',
  REST: 'a record whose rest is not there',
  BATCH: 'a batch whose end is not there',
  MISSING: 'the file ends before it'
})
