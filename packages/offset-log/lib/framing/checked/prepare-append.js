'use strict'
// What must be on stable storage before a commit is written: how far records may go, so that no position is ever given
// twice; and that somebody writes, which tells a killed process from a power cut.

/** @typedef {import('./checked-store').CheckedStore} CheckedStore */

/**
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @returns {boolean}  whether it must wait until `prepareAppend` has called back
 */
function needsPreparing (store, size) {
  const { session } = store
  const isUnknown = session.isKept && !session.isVouchedFor && !session.isBehindLoss
  return isUnknown || !session.canReach(beginOfNext(store) + size)
}

/**
 * Nobody may see a record before it is on stable storage how far records may go: if the power then takes them, their
 * positions are known not to be free.
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @param {(err: Error | null) => void} cb
 */
function prepareAppend (store, size, cb) {
  const { session, file: { durability }, blocks, checkpoints } = store
  const begin = beginOfNext(store)
  const vouch = () => {
    if (session.isVouchedFor || session.isBehindLoss) return cb(null)
    session.isVouchedFor = true
    // Who cannot is taken for one that may have lost something, and no harm is done.
    blocks.vouch(true, () => cb(null))
  }
  if (session.canReach(begin + size)) return vouch()
  durability.runExclusive((done) => checkpoints.raiseCeiling(begin, (err) => {
    done()
    if (err) cb(err)
    else vouch()
  }))
}

/**
 * @param {CheckedStore} store
 * @returns {number}  logical position where the next commit begins
 */
function beginOfNext ({ session, tail }) {
  return tail.end + tail.shift + session.jumpFrom(tail)
}

exports.beginOfNext = beginOfNext
exports.needsPreparing = needsPreparing
exports.prepareAppend = prepareAppend
