'use strict'
// What a sidecar adds to a log of these framings once it is open: what else opening found, and how much of the log is
// durable.

const { ChunkReader } = require('./chunk-reader')
const { isBoundary } = require('./locate')

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('../../log-file').Recovery} Recovery
 */

/**
 * @param {OffsetStore} store  gets its `durableLast`
 * @param {Recovery | null} recovery
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function settle (store, recovery, cb) {
  const { sidecar, blocks } = store.file
  if (!sidecar) return cb(null, recovery)
  const { settleSidecar } = require('../../sidecar/settle') // few logs have a sidecar
  settleSidecar(sidecar, recovery !== null && recovery.damage.length > 0, (err, findings) => {
    if (err || !findings) return cb(err)
    const { damage, flaws } = findings
    // Bytes that are damaged were read over to find the end; nobody else is to get them.
    if (damage.length > 0) blocks.invalidate()
    const all = recovery ?? { offset: 0, size: 0, keptAt: null, damage: [], flaws: [] }
    const isSame = damage.length === 0 && flaws.length === 0
    findDurable(store, sidecar.coveredEnd, (seq) => {
      store.durableLast = seq
      cb(null, isSame ? recovery : { ...all, damage: [...all.damage, ...damage], flaws: [...all.flaws, ...flaws] })
    })
  })
}

/**
 * @param {OffsetStore} store
 * @param {number} end  where the log was when it was synced last
 * @param {(seq: number) => void} cb  the last record before it that is not deleted; -1 when none is found
 */
function findDurable (store, end, cb) {
  if (end >= store.end) return cb(store.last)
  if (end === 0) return cb(-1)
  isBoundary(store, end, (err, isOne) => {
    if (err || !isOne) return cb(-1)
    const chunks = new ChunkReader(store, { position: end, from: 0, stop: end, reverse: true })
    chunks.next(store.end, (err, chunk) => cb(err || !chunk || chunk.count === 0 ? -1 : chunk.seqs[0]))
  })
}

exports.settle = settle
