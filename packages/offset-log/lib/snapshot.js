'use strict'
// A copy of a log that goes on meanwhile: all that could be read when it was asked for, as a log that was closed
// cleanly. What is copied is verified, so damage is never copied.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { Chunk } = require('./chunk')
const { readSource } = require('./framing/checked/salvage/read-source')
const { Survey } = require('./framing/checked/salvage/survey')
const { Session } = require('./framing/checked/session')
const { OffsetStore } = require('./framing/offset/offset-store')
const { Aside } = require('./salvage/aside')
const { DamageList } = require('./salvage/damage-list')
const { putHead } = require('./salvage/write-repaired')

// The file may be replaced by a compacted one while it is read: then all begins again.
const ATTEMPTS_MAX = 5

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./framing/checked/checked-store').CheckedStore} CheckedStore
 * @typedef {import('./salvage/output').Output} Output
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @param {LogFile} file  of a log that is loaded
 * @param {import('./log-file').Recovery | null} recovery  what opening it found
 * @param {string} path  where the copy goes; nothing may be there
 * @param {Done} cb  it is on stable storage. EEXIST; ERR_LOG_CORRUPT when the log is damaged
 */
function snapshot (file, recovery, path, cb) {
  const [damage] = recovery?.damage ?? []
  if (damage) return cb(corrupt(file.blocks.path, damage.offset))
  const aside = new Aside(path, file.storage)
  const fail = (/** @type {Error} */ err) => aside.abandon(err, cb)
  aside.open((err, output) => {
    if (err || !output) return cb(err)
    copy(file, output, 1, (err) => {
      if (err) return fail(err)
      aside.close((err) => err ? fail(err) : aside.publish((err) => err ? fail(err) : cb(null)))
    })
  })
}

/**
 * @param {LogFile} file
 * @param {Output} output
 * @param {number} attempt
 * @param {Done} cb
 */
function copy (file, output, attempt, cb) {
  file.replacement.wait(() => {
    const { store } = file
    const copyStore = store instanceof OffsetStore ? copyOffset.bind(null, store) : copyChecked.bind(null, file, store)
    copyStore(output, (err) => {
      if (err === null || attempt === ATTEMPTS_MAX || !isOfChange(err)) return cb(err)
      output.cut(0)
      const again = () => copy(file, output, attempt + 1, cb)
      // Another process may have replaced the file.
      if (file.follower) file.follower.refresh(again)
      else if (file.store !== store || store.isReplaced) again()
      else cb(err)
    })
  })
}

/**
 * Reads through a handle of its own, which goes on with the same file whatever becomes of its name.
 * @param {LogFile} file
 * @param {CheckedStore} store
 * @param {Output} output
 * @param {Done} cb
 */
function copyChecked (file, store, output, cb) {
  const { end, tail } = store
  const blocks = BlockFile(file.blocks.realPath, { flags: 'r', cache: 0, storage: file.storage })
  blocks.ready((err) => {
    if (err) return cb(err)
    const close = (/** @type {Error | null} */ err) => blocks.close((closeError) => cb(err ?? closeError))
    const isReplaced = file.store !== store || store.isReplaced
    if (isReplaced || blocks.size.value < end) return close(moved(blocks.path))
    readSource(blocks, end, (err, source) => {
      if (err || !source) return close(err)
      if (!source.head.header.id.equals(store.header.id)) return close(moved(blocks.path))
      /** @type {LogError | null} */
      let damaged = null
      const damage = new DamageList({ onRange: ({ offset }) => { damaged ??= corrupt(blocks.path, offset) } })
      const survey = new Survey(source, { damage, output, onProgress: () => {} })
      survey.run((err) => {
        if (err || damaged) return close(err ?? damaged)
        const { end: copiedEnd, shift } = survey.salvage.state
        // Another file may have taken the place of the one that the end is of.
        if (copiedEnd !== end || shift !== tail.shift) return close(moved(blocks.path))
        output.flush((err) => {
          if (err) return close(err)
          // What is copied from another process's log may be all that is left of it.
          const session = file.blocks.flags === 'r' ? new Session(source.head, false) : store.session
          putHead(output, source, survey, session.ceilingFor(end + shift, true))
          output.flush(close)
        })
      })
    })
  })
}

/**
 * Reads as the log's own readers do, so that no record is seen while it is being erased.
 * @param {OffsetStore} store
 * @param {Output} output
 * @param {Done} cb
 */
function copyOffset ({ blocks, framing, end }, output, cb) {
  const window = blocks.createSpanReader()
  const chunk = new Chunk()
  /** @type {import('./framing/offset/offset-framing').Walk} */
  const walk = { position: 0, need: framing.overhead, error: null, maxRecordSize: Infinity }
  trampoline((next) => {
    if (walk.error) return cb(walk.error)
    if (walk.position === end) return output.flush(cb)
    window.loadForward(walk.position, Math.max(walk.need, framing.overhead), end, (err) => {
      if (err) return cb(err)
      // What the window holds is from before an overwrite or from after it, but no mixture: nothing may wait here.
      do {
        const { position } = walk
        chunk.clear()
        framing.walkForward(window, new DataView(window.buffer.buffer), walk, Infinity, end, chunk)
        output.append(window.buffer.subarray(position - window.start, walk.position - window.start))
      } while (chunk.count > 0 && walk.position < end)
      output.drain((err) => err ? cb(err) : next())
    })
  })
}

/** @param {Error} err */
function isOfChange (err) {
  return err instanceof LogError && ['ERR_LOG_CORRUPT', 'ERR_FILE_SHORT_READ'].includes(err.code)
}

/** @param {string} path */
function moved (path) {
  return new LogError('ERR_LOG_CORRUPT', `snapshot: ${path} is not the file that this log reads any more; open it again`,
    { path })
}

/**
 * @param {string} path
 * @param {number} offset
 */
function corrupt (path, offset) {
  return new LogError('ERR_LOG_CORRUPT', `snapshot: ${path} is damaged at ${offset}, and damage is not copied; \`repair\` ` +
    'makes a new log of what is good in it', { offset, path })
}

exports.snapshot = snapshot
