'use strict'
// From an open block file to a log that can be read and appended to: tells the framing, and lets it find its end.

const { removeLeftover } = require('./compaction')
const { openChecked } = require('./framing/checked/open-checked')
const { detectFraming } = require('./framing/detect')
const { offsetFramings } = require('./framing/offset/offset-framing')
const { openOffset } = require('./framing/offset/open-offset')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./log-file').Recovery} Recovery
 * @typedef {import('./log-file').Store} Store
 * @typedef {(err: Error | null, store?: Store, recovery?: Recovery | null) => void} Opened
 */

// A change that was under way when the log was looked at is over after this.
const SETTLE_MS = 10
const ATTEMPT_COUNT_MAX = 50

/**
 * @param {LogFile} file  gets its `store`, `end` and `since`
 * @param {string} framing  of a file that is empty
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function load (file, framing, cb) {
  file.blocks.ready((err) => {
    if (err) return cb(err)
    const open = file.blocks.flags === 'r' ? openSteadily : openStore
    open(file, framing, (err, store, recovery = null) => {
      if (err || !store) return cb(err)
      file.store = store
      file.writtenSince = store.last
      if (file.blocks.flags === 'r' || recovery?.damage.length || recovery?.uncopied) return announce(file, recovery, cb)
      removeLeftover(file, (err) => err ? cb(err) : beginWriting(file, recovery, cb))
    })
  })
}

/**
 * @param {LogFile} file
 * @param {Recovery | null} recovery
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function beginWriting (file, recovery, cb) {
  const { store, durability, blocks } = file
  if (durability.mode !== 'always') return announce(file, recovery, cb)
  blocks.reserve(store.reserveSize)
  if (store.durableLast === store.last) return announce(file, recovery, cb)
  // Where only what is on stable storage may be seen, what a crash left must be put there first.
  durability.sync((err) => cb(err, recovery), () => file.since.set(store.last))
}

/**
 * @param {LogFile} file
 * @param {Recovery | null} recovery
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function announce ({ store, since, durability }, recovery, cb) {
  since.set(store.last)
  durability.begin(store.durableLast)
  cb(null, recovery)
}

/**
 * Another process may be writing what is read here: what looks wrong is believed once it looks the same twice.
 * @param {LogFile} file
 * @param {string} framing
 * @param {Opened} cb
 * @param {string} [before]  what was wrong the last time
 * @param {number} [attempt]
 */
function openSteadily (file, framing, cb, before = '', attempt = 1) {
  openStore(file, framing, (err, store, recovery) => {
    const found = describeFault(err, recovery)
    if (found === before || found === '' || attempt === ATTEMPT_COUNT_MAX) return cb(err, store, recovery)
    setTimeout(() => {
      file.blocks.refresh((err) => err ? cb(err) : openSteadily(file, framing, cb, found, attempt + 1))
    }, SETTLE_MS)
  })
}

/**
 * @param {Error | null} err
 * @param {Recovery | null} [recovery]
 */
function describeFault (err, recovery) {
  if (err) return err.message
  const { damage = [], flaws = [] } = recovery ?? {}
  return damage.length + flaws.length === 0 ? '' : JSON.stringify({ damage, flaws })
}

/**
 * @param {LogFile} file
 * @param {string} framing
 * @param {Opened} cb
 */
function openStore (file, framing, cb) {
  // A checked log is never empty; a file that is, opened for reading, has no framing yet: any one can read it.
  if (file.blocks.size.value === 0) {
    return openOffset(file, offsetFramings[framing] ?? offsetFramings.offset32, cb)
  }
  detectFraming(file.blocks, (err, framing) => {
    if (err || !framing) cb(err)
    else if (framing === 'checked') openChecked(file, cb)
    else openOffset(file, framing, cb)
  })
}

exports.load = load
exports.openSteadily = openSteadily
