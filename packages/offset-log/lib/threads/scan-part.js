'use strict'
// One part of a scan, read in the thread that this runs in.

const { trampoline } = require('@millrace/flow')
const { applyFilter } = require('../apply-filter')
const { RangeReader } = require('../open-range')

/**
 * @typedef {object} PartRequest
 * @property {number} from
 * @property {number} stop
 * @property {number} [at]
 * @property {number} end  how far the log reached when the scan began
 * @property {boolean} skipsDamage
 *
 * @typedef {object} PartRead
 * @property {import('../open-range').Seam} seam
 * @property {{ count: number, size: number }} lost
 * @property {boolean} hasEnded  whether nothing behind the part is wanted
 */

const NO_SEAM = { begunAt: -1, hasMet: false, erasedCount: null }

/**
 * @param {import('../log-file').LogFile} file
 * @param {PartRequest} part
 * @param {object} work
 * @param {import('../codec').RecordCodec} work.codec
 * @param {import('../codec').RecordFilter | null} work.isWanted
 * @param {(chunk: import('../chunk').Chunk) => unknown} work.onChunk  throws nothing that is not to end the part
 * @param {(err: Error | null, read?: PartRead) => void} cb
 */
function scanPart (file, { from, stop, at, end, skipsDamage }, { codec, isWanted, onChunk }, cb) {
  if (from >= stop) return cb(null, { seam: NO_SEAM, lost: { count: 0, size: 0 }, hasEnded: false })
  // What was appended since is not for this scan. Behind the end of what was there may be damage to tell of.
  const last = file.end > end ? Math.min(stop, end) : stop
  const plain = { reverse: false, live: false, old: true, limit: Infinity, where: null }
  const range = { ...plain, from, stop: last, at, skipsDamage }
  new RangeReader(file, range, isWanted).open((err, reader) => {
    if (err || !reader) return cb(err)
    const logEnd = file.end
    const finish = (/** @type {boolean} */ hasEnded) => {
      cb(null, { seam: reader.describeSeam(Math.min(last, end), stop > end), lost: reader.lost, hasEnded })
    }
    trampoline((next) => {
      reader.next(logEnd, (err, chunk) => {
        if (err || !chunk) return cb(err)
        if (chunk.count === 0) return finish(false)
        const filterErr = applyFilter(reader, codec)
        if (filterErr) return cb(filterErr)
        let goOn
        try {
          goOn = chunk.count === 0 || onChunk(chunk) !== false
        } catch (err) {
          return cb(/** @type {Error} */ (err))
        }
        if (goOn) next()
        else finish(true)
      })
    })
  })
}

exports.scanPart = scanPart
