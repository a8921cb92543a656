'use strict'
// Deletes records in any segments. All seqs are checked before the first record is erased. A compressed segment is
// inflated first; later it is compressed again.

const { LogError, misuse } = require('@millrace/errors')
const { toPromise } = require('@millrace/flow')
const { explain } = require('./reader')

/** @typedef {import('@millrace/offset-log/composing').Source} Source */

/**
 * @param {{ core: import('./core').Core, upkeep: import('./upkeep').Upkeep }} parts
 * @param {unknown[]} seqs
 */
async function deleteRecords ({ core, upkeep }, seqs) {
  const { folder, segments } = core
  if (seqs.length > 0 && !segments.last.log.supports.del) {
    throw new LogError('ERR_NOT_SUPPORTED', `del: ${folder} has text files, whose lines cannot be erased in place; copy those ` +
      'to keep into another folder: millrace snapshot --where', { path: folder })
  }
  /** @type {Map<import('./segments').Segment, number[]>} */
  const bySegment = new Map()
  for (const seq of seqs) {
    if (typeof seq !== 'number') throw misuse(`del: expected the seq of a record, got ${typeof seq}`)
    const retained = segments.droppedError('del', seq)
    if (retained) throw retained
    const segment = segments.find(seq)
    const locals = bySegment.get(segment) ?? []
    locals.push(seq >= segment.base ? seq - segment.base : seq)
    bySegment.set(segment, locals)
  }
  // Alone, a segment checks its own seqs.
  const isAlone = bySegment.size === 1 && [...bySegment.keys()][0].format === null
  if (!isAlone) for (const [segment, locals] of bySegment) await checkRecords(core, segment, locals)
  core.file.noteDeletion()
  try {
    for (const [segment, locals] of bySegment) {
      await upkeep.change(segment, () => segments.opened.use(segment, async (log) => {
        if (segment.sink?.writeError('del') === null) segments.opened.noteDeletion(segment)
        await log.del(locals).catch((/** @type {any} */ err) => {
          throw explain('del', err, { segments, segment, seq: segment.base + err.offset })
        })
        // Neither a copy nor a sync that was begun meanwhile has all of it.
        segments.opened.noteDeletion(segment)
      })).catch((err) => {
        segments.opened.noteFailure(err)
        throw err
      })
    }
  } finally {
    // Streams that have read the records must not show them any more.
    core.file.noteDeletion()
  }
}

/** @type {(core: import('./core').Core, segment: import('./segments').Segment, locals: number[]) => Promise<void>} */
async function checkRecords ({ segments }, segment, locals) {
  await segments.opened.use(segment, async (log) => {
    // What `appendSync` has returned may be shown later.
    if (segment.isActive && locals.some((seq) => seq > log.since.value)) await log.sync()
    const source = /** @type {Source} */ (segment.source)
    for (const seq of locals) {
      await toPromise((cb) => source.readRecord(seq, cb)).catch((err) => {
        const own = err instanceof LogError ? new LogError(err.code, err.message.replace(/^get: /, 'del: '), err) : err
        throw explain('del', own, { segments, segment, seq: segment.base + seq })
      })
    }
  })
}

exports.deleteRecords = deleteRecords
