'use strict'
// Once a log is open: says what its sidecar is worth, makes it anew where it is worth nothing, and covers what is not
// covered yet.

const { readWhole, writeWhole } = require('@millrace/block-file')
const { eachInOrder } = require('../each-in-order')
const { crc32 } = require('../framing/checked/crc32')
const { Changes } = require('./changes')
const { createSidecar } = require('./create-sidecar')
const { BLOCK_SIZE } = require('./layout')
const { readState } = require('./load-sidecar')
const { proveSums } = require('./prove-sums')
const { SidecarFile } = require('./sidecar-file')

/**
 * @typedef {import('./sidecar').Sidecar} Sidecar
 * @typedef {import('./sidecar').Range} Range
 * @typedef {import('./prove-sums').Proof} Proof
 * @typedef {{ what: string, offset: number, size: number }} Finding
 * @typedef {{ damage: Finding[], flaws: Finding[] }} Findings
 * @typedef {(err: Error | null, findings?: Findings) => void} Found
 */

/**
 * @param {Sidecar} sidecar  whose log is open
 * @param {boolean} isDamaged  whether the log was found damaged by other means: then nothing is written
 * @param {Found} cb
 */
function settleSidecar (sidecar, isDamaged, cb) {
  const { verdict: { name, why }, isReader, reads } = sidecar
  const damage = damageOf(sidecar)
  sidecar.isSettled = true
  const isFrozen = isDamaged || damage.length > 0
  if (name === 'trusted') {
    const flaws = flawsOfTrusted(sidecar)
    if (isReader || isFrozen) return cb(null, { damage, flaws })
    return takeOver(sidecar, (err) => cb(err, { damage, flaws }))
  }
  if (isFrozen || (isReader && !sidecar.parsed)) return cb(null, { damage, flaws: [flaw(`${why}: nothing is checked`)] })
  readState(sidecar.log, (err, state) => {
    if (err || !state) return cb(err)
    proveSums(sidecar.log, state.size, sidecar.parsed?.sums ?? null, (err, proof) => {
      if (err || !proof) return cb(err)
      const flaws = judgeProof(sidecar, proof)
      // The bytes have all been read just now, and are what later ones are compared with.
      if (isReader) {
        reads.sums = proof.sums
        return cb(null, { damage, flaws })
      }
      renew(sidecar, proof, (err) => cb(err, { damage, flaws }))
    })
  })
}

/**
 * @param {Sidecar} sidecar
 * @returns {Finding[]}
 */
function damageOf ({ noted, lost }) {
  const found = [...noted.values()].sort((a, b) => a.start - b.start).map(({ start, end }) => {
    return { what: 'these bytes do not match their checksum in the sidecar', offset: start, size: end - start }
  })
  if (!lost) return found
  const what = 'the file ends before these bytes, which were on stable storage, says its sidecar'
  return [...found, { what, offset: lost.start, size: lost.end - lost.start }]
}

/**
 * @param {string} what
 * @param {Range} [range]
 * @returns {Finding}
 */
function flaw (what, { start, end } = { start: 0, end: 0 }) {
  return { what, offset: start, size: end - start }
}

/**
 * @param {Sidecar} sidecar
 * @returns {Finding[]}
 */
function flawsOfTrusted ({ parsed }) {
  if (!parsed) return []
  const { slot, lostPages, unequalPages, hasLostSlot } = parsed
  if (lostPages.size > 0) return [flaw(`the sidecar is damaged: ${lostPages.size} of its pages are lost`)]
  // A crash leaves such a thing, but whoever has closed the log had mended it.
  if (slot.isClean && (hasLostSlot || unequalPages.size > 0)) {
    return [flaw('the sidecar is damaged in a part that is there twice')]
  }
  return []
}

/**
 * @param {Sidecar} sidecar
 * @param {Proof} proof
 * @returns {Finding[]}
 */
function judgeProof ({ verdict: { name, why }, parsed, isReader }, { differing, comparedCount, sums, isRight }) {
  if (!parsed) return name === 'missing' && sums.end === 0 ? [] : [flaw(`${why}: it was made anew, of the log as it is`)]
  const { slot } = parsed
  const count = differing.length
  if (!isRight) {
    const range = count > 0 ? { start: differing[0].start, end: differing[count - 1].end } : undefined
    const found = count > 0 ? `${count} of ${comparedCount} blocks of 64 KiB differ` : 'the log is shorter'
    const outcome = isReader ? 'nothing is checked' : 'it was made anew, of the log as it is'
    return [flaw(`${why}, and ${found}: it is not believed; ${outcome}`, range)]
  }
  if (!slot.isClean || sums.end === slot.end) return []
  return [flaw(`${why}: what was appended was not covered`, { start: slot.end, end: sums.end })]
}

/**
 * The sidecar goes on from where it is: it gets the sums that are missing in it.
 * @param {Sidecar} sidecar
 * @param {(err: Error | null) => void} cb
 */
function takeOver (sidecar, cb) {
  const { parsed, handle, log, reads: { sums } } = sidecar
  if (!parsed || !handle) return cb(null)
  const file = new SidecarFile(handle, sidecar.sidecarPath, parsed.slot)
  file.unequalPages = new Set([...parsed.unequalPages, ...parsed.lostPages])
  readState(log, (err, state) => {
    if (err || !state) return cb(err)
    sumRest(sidecar, state.size, (err, summed = []) => {
      if (err) return cb(err)
      const needsMending = parsed.hasLostSlot || file.unequalPages.size > 0
      sidecar.changes = new Changes(log, sidecar.reads, file, needsMending)
      if (summed.length > 0 || sums.end > parsed.slot.end) sidecar.changes.coverage.noteSummed(summed)
      cb(null)
    })
  })
}

/**
 * Reads the blocks that were being changed, and what was not synced. Unless the log was closed they are written
 * again, in place: after a sync that failed the kernel counts them as clean, and a sync writes only what is not.
 * @param {Sidecar} sidecar
 * @param {number} size  of the log
 * @param {(err: Error | null, blocks?: number[]) => void} cb  gets the blocks that have a new sum
 */
function sumRest (sidecar, size, cb) {
  const { log, parsed, reads: { sums } } = sidecar
  const blocks = Array.from({ length: sums.blockCount }, (_, index) => index).filter((index) => !sums.isKnown(index))
  const rewrite = (/** @type {Range} */ range, /** @type {(bytes: Buffer) => void} */ use, /** @type {any} */ done) => {
    const bytes = Buffer.allocUnsafe(range.end - range.start)
    readWhole(log, bytes, range.start, (err, count) => {
      if (err) return done(err)
      use(bytes.subarray(0, count))
      if (parsed?.slot.isClean) done(null)
      else writeWhole(log, bytes.subarray(0, count), range.start, done)
    })
  }
  eachInOrder(blocks, (index, done) => {
    const range = { start: index * BLOCK_SIZE, end: sums.blockEnd(index) }
    rewrite(range, (bytes) => sums.set(index, crc32(bytes)), done)
  }, (err) => {
    if (err) return cb(err)
    const next = (/** @type {Error | null} */ err) => {
      if (err || sums.end >= size) return cb(err, blocks)
      rewrite({ start: sums.end, end: Math.min(size, sums.end + 16 * BLOCK_SIZE) }, (bytes) => sums.extend(bytes), next)
    }
    next(null)
  })
}

/**
 * @param {Sidecar} sidecar
 * @param {Proof} proof
 * @param {(err: Error | null) => void} cb
 */
function renew (sidecar, { sums, isRight }, cb) {
  const { inner, log, path, sidecarPath } = sidecar
  const steps = [
    // A sidecar says of what it covers that it is on stable storage.
    (/** @type {any} */ done) => sums.end === 0 ? done(null) : log.sync(done),
    (/** @type {any} */ done) => putAside(sidecar, isRight, done),
    (/** @type {any} */ done) => readState(log, (err, state) => {
      if (err || !state) return done(err)
      createSidecar(inner, path, sidecarPath, state, sums, (err, slot) => {
        if (err || !slot) return done(err)
        inner.open(sidecarPath, { flags: 'r+', createFolder: false, mustExist: true }, (err, handle) => {
          if (err || !handle) return done(err)
          sidecar.handle = handle
          sidecar.reads.sums = sums
          sidecar.changes = new Changes(log, sidecar.reads, new SidecarFile(handle, sidecarPath, slot))
          done(null)
        })
      })
    })
  ]
  eachInOrder(steps, (step, done) => step(done), cb)
}

/**
 * What is not believed is not destroyed: it may be right, or somebody else's.
 * @param {Sidecar} sidecar
 * @param {boolean} isRight  whether it says nothing that the new one will not say
 * @param {(err: Error | null) => void} cb
 */
function putAside (sidecar, isRight, cb) {
  const { handle, inner, sidecarPath } = sidecar
  if (!handle) return cb(null)
  sidecar.handle = null
  handle.close((err) => {
    if (err || isRight) return cb(err)
    inner.rename(sidecarPath, `${sidecarPath}.old`, (err) => cb(err))
  })
}

exports.settleSidecar = settleSidecar
