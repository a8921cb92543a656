'use strict'
// Work on a log whose storage fails at any one call, in every way that file systems have: once, for a while, or until
// the work is done. For logs of one file and of many.

const path = require('node:path')
const { SimulatedDisk, collect, failureOf } = require('@millrace/testkit')

const FOLDER = '/folder'
/** A call that takes longer hangs: the disk is in memory. */
const HANG_MS = 20_000
const BUSY_COUNT = 12
/** More than a segmented log waits before it makes the next segment again. */
const RETRY_MS = 1100

/** The calls that each code is usual for, and what it then does not excuse. */
const CODES = {
  ENOSPC: { names: /^(create|write|rename)$/ },
  EDQUOT: { names: /^(create|write|rename)$/ },
  EIO: { names: /./ },
  EMFILE: { names: /^(open|listFolder|freeSize)$/ },
  EACCES: { names: /^(open|rename|unlink|listFolder|copyOwnership)$/ },
  EROFS: { names: /^(open|write|truncate|rename|unlink|copyOwnership)$/ },
  short: { names: /^(read|write)$/ }
}
/** How many calls fail, from the one that is chosen on. */
const SPANS = { once: 1, 'for a while': BUSY_COUNT, always: Infinity }
/** Only these leave it unknown what the disk has, so that a log may say that it takes no more. */
const EXCUSES = /^(sync|syncFolder|truncate)$/

/** A disk of which calls can fail, and that knows what is open. */
class FailingDisk {
  /** @param {{ code: string, at: number, span: number }} fault  @param {SimulatedDisk} [before] */
  constructor ({ code, at, span }, before = new SimulatedDisk()) {
    this.callCount = 0
    this.isMended = false
    /** The names of the calls that have failed. @type {string[]} */
    this.failed = []
    this.disk = before.clone({ decide: (call) => this._decide(call, code, at, span) })
    /** @type {Map<string, number>} */
    this.open = new Map()
    const { storage } = this.disk
    this.storage = {
      ...storage,
      open: (file, options, cb) => {
        storage.open(file, options, (err, handle) => cb(err, handle && this._count(file, handle)))
      },
      openSync: (file, options) => this._count(file, storage.openSync(file, options)),
      copyOwnership: (from, to, cb) => this.disk._answer({ name: 'copyOwnership', path: to }, cb, () => {}),
      freeSize: (folder, cb) => this.disk._answer({ name: 'freeSize', path: folder }, cb, () => 1e12)
    }
  }

  _decide (call, code, at, span) {
    if (this.isMended) return {}
    const name = call.name === 'open' && !this.disk._names.has(call.path) ? 'create' : call.name
    if (name === 'close' || !(CODES[code].names.test(name) || CODES[code].names.test(call.name))) return {}
    const index = this.callCount++
    if (index < at || index >= at + span) return {}
    if (code === 'short') return { length: Math.max(1, call.length >> 1) }
    this.failed.push(`${name} ${path.basename(call.path)}${call.position === undefined ? '' : ` at ${call.position}`}`)
    return { code }
  }

  _count (file, handle) {
    const note = (change) => this.open.set(file, (this.open.get(file) ?? 0) + change)
    note(1)
    let isOpen = true
    const close = handle.close
    handle.close = (cb) => {
      if (isOpen) note(-1)
      isOpen = false
      close(cb)
    }
    return handle
  }

  get leaked () {
    return [...this.open].filter(([, count]) => count !== 0).map(([file]) => file)
  }

  /** Whether the log may say that it takes no more. */
  get isExcused () {
    return this.failed.some((name) => EXCUSES.test(name.split(' ')[0]))
  }
}

/** @type {<T>(name: string, promise: Promise<T>) => Promise<T>} */
function settled (name, promise) {
  let timer
  const hang = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(`${name} hangs`), { isHang: true })), HANG_MS)
  })
  return Promise.race([promise, hang]).finally(() => clearTimeout(timer))
}

const bytesOf = (name, size = 60) => Buffer.from(name.repeat(size))

/**
 * All kinds of work: then the storage is mended, and the log must append again. Notes the names of the records.
 * @returns {Promise<object>}  with `problems`
 */
async function work (failing, openLog, fsync) {
  const notes = {
    tried: [], appended: [], promised: new Set(), deleted: new Set(), unsure: new Set(), problems: [], failure: null,
    poison: null, isClosed: false
  }
  const names = [...'abcdefghijklmnopqrstuvwxyz']
  const log = openLog(failing.storage)
  const did = async (name, run) => {
    try {
      const value = await settled(name, (async () => run())())
      return { value }
    } catch (err) {
      if (err.isHang || typeof err.code !== 'string') notes.problems.push(`${name}: ${err.stack}`)
      else if (!err.message) notes.problems.push(`${name}: no message`)
      notes.failure = err
      if (err.code === 'ERR_LOG_POISONED') notes.poison ??= Object.assign(err, { during: name })
      return { err }
    }
  }
  const promise = () => { for (const name of notes.appended.flat()) notes.promised.add(name) }
  const seqs = new Map()
  const append = async (count, isNow = false, size = 60) => {
    const batch = names.splice(0, count)
    notes.tried.push(batch)
    const values = batch.map((name) => bytesOf(name, size))
    const { err, value } = await did('append', () => isNow ? log.appendSync(values) : log.append(values))
    if (err) {
      for (const name of batch) notes.unsure.add(name)
      return false
    }
    notes.appended.push(batch)
    seqs.set(batch.at(-1), value)
    if (fsync === 'always' && !isNow) promise()
    return true
  }
  const sync = async (name, run) => { if (!(await did(name, run)).err) promise() }
  await did('ready', () => log.ready())
  await append(1)
  await append(2)
  await sync('sync', () => log.sync())
  await append(1, true)
  await append(2, true, 9000)
  await sync('flushSync', () => log.flushSync())
  await append(1)
  if (log.supports.del && seqs.has('a')) {
    if (!(await did('del', () => log.del(seqs.get('a')))).err) notes.deleted.add('a')
    else notes.unsure.add('a')
  }
  if (log.roll) await did('roll', () => log.roll())
  await append(2, false, 9000)
  if (log.supports.compact && !log.roll) await did('compact', () => log.compact())
  if (log.snapshot) await did('snapshot', () => log.snapshot(`${FOLDER}/copy${notes.tried.length}`))
  await append(1)
  const read = await did('read', () => collect(log.stream()))
  if (read.value) checkNames(read.value.map(({ value }) => value), notes, 'read meanwhile')
  failing.isMended = true
  await live(failing, log, { notes, did, append, sync })
  const closed = await did('close', () => log.close())
  if (!closed.err) promise()
  notes.isClosed = !closed.err
  if (failing.leaked.length > 0) notes.problems.push(`left open: ${failing.leaked}`)
  return notes
}

/** Now that the storage works again: the log does too, or says that it cannot. */
async function live (failing, log, { notes, did, append, sync }) {
  let hasAppended = await append(2) && await append(1, true)
  for (let left = 3; left > 0 && notes.failure?.code === 'ERR_LOG_NOT_READY' && !hasAppended; left--) {
    // Of many files: the next one is tried again after a second.
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    hasAppended = await append(1) && await append(1, true)
  }
  await sync('sync', () => log.sync())
  if (hasAppended || (await did('ready', () => log.ready())).err) return
  const { err } = await did('append again', () => log.append([]))
  const why = notes.poison ?? err ?? notes.failure
  if (why?.code === 'ERR_LOG_POISONED') {
    // What could not be put back may have failed for another reason than a full disk.
    const isHalf = why.cause?.code === 'ERR_FILE_NOT_UNDONE' && !['ENOSPC', 'EDQUOT'].includes(why.cause.cause?.code)
    if (failing.isExcused || isHalf || ['del', 'compact'].includes(why.during)) return
    notes.problems.push(`poisoned, though only ${failing.failed} failed: ${why.stack}`)
  } else if (why?.code !== 'ERR_LOG_READ_ONLY') {
    notes.problems.push(`does not append again after ${failing.failed}: ${why?.stack}`)
  }
}

/** @type {(values: Buffer[], notes: object, where: string) => void} */
function checkNames (values, notes, where) {
  const found = values.map((value) => value.toString('latin1', 0, 1))
  const wrong = values.find((value) => !value.every((byte) => byte === value[0]))
  if (wrong) notes.problems.push(`${where}: wrong bytes ${wrong.toString('latin1', 0, 200)}`)
  const isInOrder = found.every((name, index) => index === 0 || name > found[index - 1])
  if (!isInOrder) notes.problems.push(`${where}: found ${found}`)
  return found
}

/** Opens what is left, and compares it with the promises. */
async function examine (disk, openLog, notes, where, isAtomic) {
  const log = openLog(disk.storage)
  try {
    const found = checkNames((await settled('open', collect(log.stream()))).map(({ value }) => value), notes, where)
    const isThere = (name) => found.includes(name)
    const isGone = (name) => notes.deleted.has(name) || notes.unsure.has(name)
    const missing = [...notes.promised].filter((name) => !isThere(name) && !isGone(name))
    if (missing.length > 0) notes.problems.push(`${where}: promised ${missing} are missing, found ${found}`)
    if (notes.isClosed && [...notes.deleted].some(isThere)) notes.problems.push(`${where}: what was deleted is back`)
    const halves = notes.tried.filter((batch) => isAtomic && batch.some(isThere) && !batch.every(isThere))
    if (halves.length > 0) notes.problems.push(`${where}: half of ${halves}, found ${found}`)
    await settled('append', log.append(bytesOf('~')))
    await settled('close', log.close())
  } catch (err) {
    notes.problems.push(`${where}: ${err.stack}`)
    await failureOf(() => log.close())
  }
  const left = disk.list().filter((file) => /\.(new|compacting|tail)$/.test(file) && !/copy/.test(file))
  if (left.length > 0) notes.problems.push(`${where}: left over ${left}`)
}

/**
 * Lets every call fail that is reached, and tells what is wrong.
 * @param {{ openLog: (storage: any) => any, fsync: string, isAtomic: boolean, step: number,
 *   codes?: string[], report: (problem: string) => void }} options
 * @returns {Promise<number>}  how many runs there were
 */
async function failEach ({ openLog, fsync, isAtomic, step, codes = Object.keys(CODES), report }) {
  let runs = 0
  for (const code of codes) {
    for (const [how, span] of Object.entries(SPANS)) {
      for (let at = runs++ % step; ; at += step) {
        const failing = new FailingDisk({ code, at, span })
        const rejections = []
        const note = (err) => rejections.push(err)
        process.on('unhandledRejection', note)
        const notes = await work(failing, openLog, fsync)
        const isOver = failing.callCount <= at
        await examine(failing.disk.crash(() => 0), openLog, notes, 'after a power cut', isAtomic)
        await examine(failing.disk, openLog, notes, 'opened again', isAtomic)
        process.off('unhandledRejection', note)
        for (const err of rejections) notes.problems.push(`unhandled rejection: ${err.stack}`)
        for (const problem of notes.problems) report(`${code} ${how}, call ${at} (${failing.failed.slice(0, 3)}): ${problem}`)
        runs++
        if (isOver) break
      }
    }
  }
  return runs
}

exports.failEach = failEach
