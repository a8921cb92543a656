'use strict'
// Follows a text file that another process writes: finds the whole lines behind the known end. A line counts once its
// line break is there.

const { findLineStart, LinesReader } = require('./lines-reader')

/**
 * Text files do not mark commits, so part of a batch may be seen. Sets the store's end.
 * @param {import('../lines-store').LinesStore} store
 * @param {(err: Error | null, news?: import('../follower').News) => void} cb
 */
function followLines (store, cb) {
  const { blocks, file } = store
  const tell = () => cb(null, { since: file.writtenSince, durable: store.durableLast })
  const before = store.end
  if (blocks.size.value <= before) return tell()
  findLineStart({ blocks, start: before }, blocks.size.value, (err, end = before) => {
    if (err) return cb(err)
    if (end === before) return tell()
    const reader = new LinesReader(store, { from: before, stop: end, reverse: true, skipsDamage: true }, end)
    reader.next(end, (err, records) => {
      if (err || !records) return cb(err)
      if (records.count > 0) file.writtenSince = records.seqs[0]
      store.setEnd(end)
      tell()
    })
  })
}

exports.followLines = followLines
