// @ts-nocheck
'use strict'
// Opens the folder that a crash has left on a mounted disk, compares it with what it may have, goes on with it, closes
// and opens it again, and looks for what is left over in it.

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const { checkSame, goneRecords } = require('../../torture/check-image')
const { compare } = require('../../torture/compare')
const { checkNowhere } = require('../../torture/erased')
const { readLog } = require('../../torture/read-log')
const { pickWeighted, seededRandom } = require('../../torture/seeded')
const { Violation } = require('../../torture/violation')
const { STAMP_SIZE, createOptions, createText, isChosen, untilWhole } = require('./settings')
const { checkWhole } = require('./story')

const HOLD = 'h'
/** No session gets so far. */
const NEXT_ID = 2 ** 31
const SEGMENT = /^(\d{16}-\d{8}T\d{9}Z\.log)(\.gz)?$/
// What may lie beside the folder, and in it once the log is closed.
const BESIDE = /^(lost\+found|neighbour|other|log)$/
const INSIDE = /^(times|writer|h\.\d{16}\.hold|\d{16}-\d{8}T\d{9}Z\.log(\.gz|\.cut-\d+(-\d+)?|\.kept-\d{8}T\d{9}Z)?)$/
/** @type {Array<[number, string]>} */
const FSYNC_WEIGHTS = [[4, 'interval'], [1, 'always'], [3, 'never']]

/** @typedef {import('../../torture/compare').Found} Found */

/**
 * @param {import('../../torture/disk/history').SubjectState} state
 * @returns {Promise<{ hasRecovered: boolean }>}
 * @throws {Violation}
 */
async function examineFolder (state) {
  const examination = new Examination(state)
  try {
    return await examination.run()
  } finally {
    await examination.close()
  }
}

class Examination {
  /** @param {import('../../torture/disk/history').SubjectState} state */
  constructor ({ root, file, logModule, settings, story, at, seed }) {
    this._root = root
    this._folder = file
    this._package = require(logModule)
    this._verify = require(require.resolve('@millrace/repair', { paths: [logModule] })).verify
    this._settings = settings
    this._at = at
    this._random = seededRandom(...seed)
    this._telling = story.tellingAt(at)
    this._expectation = this._telling.ledger.expect(at, false)
    this._nextId = NEXT_ID
    /** @type {any} */
    this._log = null
  }

  async run () {
    const random = this._random
    const segmentCount = this._countSegments()
    if (random(4) === 0) await this._readOnly()
    await this._open()
    const hasRecovered = this._log.recovery !== null
    const found = await this._readAll()
    const matched = this._compare(found)
    this._checkCount(segmentCount, matched)
    this._checkObservables(found)
    this._telling.checkHolds((await this._log.holds()).map(({ seq }) => seq))
    const after = await this._goOn(found)
    await this._log.close()
    const gone = new Set([...goneRecords(this._expectation, matched), ...this._deletedSince])
    checkNowhere(() => contentsOf(this._folder), [...gone])
    this._checkNames()
    await this._open()
    const again = await this._readAll()
    checkSame(again, after)
    this._checkObservables(again)
    await this._log.close()
    await this._checkSound()
    return { hasRecovered }
  }

  async close () {
    await this._log?.close().catch(() => {})
  }

  _names () {
    return fs.existsSync(this._folder) ? fs.readdirSync(this._folder).sort() : []
  }

  /** Apart from those of which only chosen records are left. */
  _countSegments () {
    const names = this._names()
    const segments = new Set(names.map((name) => SEGMENT.exec(name)?.[1]).filter((name) => name !== undefined))
    return [...segments].filter((segment) => !names.some((name) => name.startsWith(`${segment}.kept-`))).length
  }

  /** @param {object} [options] */
  async _open (options) {
    const fsync = pickWeighted(this._random, FSYNC_WEIGHTS)
    const all = { ...createOptions(this._settings, fsync), ...options }
    const log = this._log = this._package.SegmentedLog(this._folder, all)
    try {
      await log.ready()
    } catch (err) {
      throw new Violation('refused', `the log cannot be opened: ${err.stack}`)
    }
    if (log.recovery?.damage?.length) throw new Violation('refused', `damage is seen: ${JSON.stringify(log.recovery)}`)
  }

  /** @returns {Promise<Found[]>} */
  async _readAll () {
    try {
      return await untilWhole(() => readLog(this._log))
    } catch (err) {
      throw new Violation('refused', `the log cannot be read: ${err.stack}`)
    }
  }

  async _readOnly () {
    const newest = this._names().filter((name) => SEGMENT.test(name)).pop()
    // While a copy of the end is there only the next writer can restore it.
    if (newest === undefined || fs.statSync(path.join(this._folder, newest)).size === 0) return
    if (this._names().includes(`${newest}.tail`)) return
    await this._open({ flags: 'r' })
    try {
      this._compare(await this._readAll())
    } catch (err) {
      if (err instanceof Violation) err.message = `to a reader: ${err.message}`
      throw err
    }
    await this._log.close()
  }

  /** @param {Found[]} found */
  _compare (found) {
    const matched = compare(this._expectation, found)
    checkWhole(this._expectation, matched, this._settings.keeps, this._at, false)
    return matched
  }

  /** Limits drop only what is more than they allow. @type {(count: number, matched: Map<any, number>) => void} */
  _checkCount (count, matched) {
    const { maxCount } = this._settings
    const required = this._expectation.commits.filter(({ isRequired, commit }) => isRequired && !commit.isUncertain)
    const wasLimited = required.some(({ records }) => records.some(({ record }) => {
      const entry = /** @type {any} */ (record)
      return !matched.has(record) && !entry.isAskedToGo && entry.ownStatusAt(this._at, false) === 'there'
    }))
    if (wasLimited && maxCount !== null && count < maxCount) {
      throw new Violation('promised lost', `records were dropped though there are only ${count} segments, and ${maxCount} may be`)
    }
  }

  /** @param {Found[]} found */
  _checkObservables (found) {
    const { since, durable } = this._log
    const last = found.at(-1)?.seq ?? -1
    if (since.value < last) throw new Violation('wrong answer', `since is ${since.value}, the last record is at ${last}`)
    if (!(durable.value <= since.value)) throw new Violation('wrong answer', `durable is ${durable.value}, since is ${since.value}`)
  }

  /** All ways to read show the same. @param {Found[]} found */
  async _checkReads (found) {
    const log = this._log
    const random = this._random
    for (let count = Math.min(3, found.length); count > 0; count--) {
      const item = found[random(found.length)]
      const { bytes } = await log.get(item.seq).catch((err) => {
        throw new Violation('wrong answer', `get ${item.seq}: ${err.stack}`)
      })
      if (!bytes.equals(bytesOf(item))) throw new Violation('wrong answer', `get ${item.seq} gives other bytes than scan`)
    }
    const seqs = []
    for await (const { seq } of log.stream({ reverse: true })) seqs.push(seq)
    checkList('backwards', seqs.reverse(), found.map(({ seq }) => seq))
    const [gte, lt] = [random(2 * found.length + 1), random(4 * found.length + 1)]
    const ids = []
    for await (const { id } of log.stream({ time: { gte, lt }, seqs: false })) ids.push(id)
    checkList(`from time ${gte} to ${lt}`, ids, found.map(idOf).filter((id) => id >= gte && id < lt))
    const count = await log.count()
    if (count !== found.length) throw new Violation('wrong answer', `count is ${count}, and there are ${found.length} records`)
  }

  /**
   * @param {Found[]} found
   * @returns {Promise<Found[]>}  what there must be afterwards
   */
  async _goOn (found) {
    /** What must be there, if it is not dropped. */
    this._present = found
    this._dropSeq = 0
    /** @type {any[]} */
    this._deletedSince = []
    const [hold] = await this._log.holds()
    this._heldFrom = hold === undefined ? Infinity : hold.cut?.to ?? hold.seq
    try {
      await this._applyLimits()
      await this._checkReads(this._present)
      // Whatever comes, the log can be appended to.
      await this._append()
      await this._checkLost(found)
      for (let count = this._random(5); count > 0; count--) {
        const step = pickWeighted(this._random, [
          [4, this._append], [3, this._del], [3, this._roll], [2, this._drop], [1, this._hold], [1, this._release],
          [2, this._settle]
        ])
        await step.call(this)
      }
      await this._applyLimits()
      return this._present
    } catch (err) {
      if (err instanceof Violation) throw err
      throw new Violation('refused', `the log cannot be written to any more: ${err.stack}`)
    }
  }

  /** What they drop is dropped now, and not while something is compared. */
  async _applyLimits () {
    if (this._settings.maxCount !== null) await this._log.dropBefore(0)
    this._present = this._checkDrops(await this._readAll())
  }

  async _append () {
    const count = this._random(3) === 0 ? 3 : 1
    const values = Array.from({ length: count }, () => {
      return createText(0, this._nextId++, STAMP_SIZE + this._random(this._random(4) === 0 ? 40_000 : 600))
    })
    const { value: since } = this._log.since
    const seq = await this._log.append(count === 1 ? values[0] : values)
    if (!(seq > since) || this._log.since.value !== seq) {
      throw new Violation('wrong answer', `append gives ${seq} after ${since}, and since is ${this._log.since.value}`)
    }
    const seqs = []
    for await (const item of this._log.stream({ reverse: true, limit: count })) seqs.unshift(item.seq)
    const items = values.map((buffer, index) => ({ seq: seqs[index], buffer, start: 0, end: buffer.length }))
    this._present = [...this._present, ...items]
    for (const { seq } of items) {
      const shown = this._expectation.shown.find((shown) => shown.seq === seq)
      if (shown) throw new Violation('seq given twice', `what is appended is at ${seq}, where record ${shown.record.id} was`)
    }
  }

  async _del () {
    this._present = this._checkDrops(await this._readAll())
    const item = this._present[this._random(this._present.length)]
    if (item === undefined) return
    try {
      await this._log.del(item.seq)
    } catch (err) {
      if (err.code === 'ERR_LOG_SEQ_RETAINED' && this._settings.maxCount !== null) return
      throw err
    }
    this._present = this._present.filter((other) => other !== item)
    this._deletedSince.push({ id: idOf(item), bytes: bytesOf(item), kind: 'random' })
  }

  async _roll () {
    await this._log.roll()
  }

  async _drop () {
    const { seq } = this._present[this._random(this._present.length)] ?? { seq: 0 }
    this._dropSeq = Math.max(this._dropSeq, Math.min(seq, this._heldFrom))
    const { first } = await this._log.dropBefore(seq)
    const found = await this._readAll()
    this._present = this._checkDrops(found)
    const left = found.find((item) => item.seq < first && !(this._settings.keeps && isChosen(idOf(item))))
    if (left) throw new Violation('wrong answer', `${left.seq} is there, and all below ${first} was dropped`)
  }

  async _hold () {
    const { seq } = this._present[this._random(this._present.length)] ?? {}
    if (!seq) return
    await this._log.hold(HOLD, seq)
    const [{ cut }] = await this._log.holds()
    this._heldFrom = cut?.to ?? seq
  }

  async _release () {
    await this._log.release(HOLD)
    this._heldFrom = Infinity
  }

  async _settle () {
    await new Promise((resolve) => setTimeout(resolve, 20 + this._random(40)))
  }

  /**
   * @param {Found[]} found
   * @returns {Found[]}  the same: what is missing was dropped rightly
   */
  _checkDrops (found) {
    const { maxCount, keeps } = this._settings
    const seqs = new Set(found.map(({ seq }) => seq))
    const isKept = (item) => keeps && isChosen(idOf(item))
    const whole = found.find((item) => !isKept(item))?.seq ?? Infinity
    for (const item of this._present) {
      const mayBeGone = item.seq < this._dropSeq || (maxCount !== null && !isKept(item) && item.seq < this._heldFrom)
      if (seqs.has(item.seq) || (mayBeGone && item.seq < whole)) continue
      throw new Violation('promised lost', `record ${idOf(item)} at ${item.seq} is missing; there are ${found.length}, ` +
        `dropped below ${this._dropSeq}, held from ${this._heldFrom}`)
    }
    checkSame(found, this._present.filter(({ seq }) => seqs.has(seq)))
    return found
  }

  /** Whoever keeps the seq of a record that is lost must learn it. @param {Found[]} found */
  async _checkLost (found) {
    const known = new Set(found.map(({ seq }) => seq))
    const first = this._wholeFrom(found)
    const lost = this._expectation.shown.filter(({ seq, record }) => {
      const records = /** @type {any[]} */ (record.commit.records)
      const isKept = records.every(({ deletions, isDroppable }) => deletions.length === 0 && !isDroppable)
      return !known.has(seq) && seq < this._log.since.value && isKept
    })
    if (lost.length === 0) return
    const { seq } = lost[this._random(lost.length)]
    const scan = (range) => this._log.scan(range, () => {})
    for (const ask of [() => this._log.get(seq), () => scan({ gt: seq }), () => scan({ gte: seq })]) {
      const code = await ask().then(() => null, (err) => err.code)
      if (code === 'ERR_LOG_SEQ_LOST' || (code === 'ERR_LOG_SEQ_RETAINED' && seq < first)) continue
      throw new Violation('wrong answer', `${seq} is lost, and who asks is told: ${code}`)
    }
  }

  /**
   * Below this seq, chosen records alone may be left: what is missing may be dropped. A segment is marked before it is
   * thinned out, so a power cut may leave a marked one with all its records.
   * @param {Found[]} found
   */
  _wholeFrom (found) {
    const names = this._names()
    const bases = names.filter((name) => /\.log(?:\.gz)?$/.test(name)).map((name) => Number(name.slice(0, 16)))
    const marked = new Set(names.filter((name) => name.includes('.log.kept-')).map((name) => Number(name.slice(0, 16))))
    const isMarked = ({ seq }) => marked.has(bases.findLast((base) => base <= seq))
    const isWhole = (item) => !(this._settings.keeps && (isChosen(idOf(item)) || isMarked(item)))
    return found.find(isWhole)?.seq ?? Infinity
  }

  _checkNames () {
    const others = fs.readdirSync(this._root).filter((name) => !BESIDE.test(name))
    const names = this._names()
    const strange = names.filter((name) => {
      const [, marked] = /^(.*)\.kept-/.exec(name) ?? []
      const isMarkOfNothing = marked !== undefined && !names.includes(marked) && !names.includes(`${marked}.gz`)
      return !INSIDE.test(name) || names.includes(`${name}.gz`) || isMarkOfNothing
    })
    if (others.length + strange.length === 0) return
    throw new Violation('left over', `once the log is closed there is ${[...others, ...strange].join(', ')}`)
  }

  async _checkSound () {
    const storage = this._package.createPlainStorage()
    for (const file of await this._package.listSegments(this._folder)) {
      const { isSound, damage } = await this._verify(file.replace(/\.gz$/, ''), { storage })
      if (!isSound) throw new Violation('wrong answer', `verify finds damage in ${path.basename(file)}: ${JSON.stringify(damage)}`)
    }
  }
}

/** @param {Found} item */
function bytesOf ({ buffer, start, end }) {
  return buffer.subarray(start, end)
}

/** @param {Found} item */
function idOf (item) {
  return bytesOf(item).readUInt32BE(0)
}

/** @type {(what: string, list: number[], expected: number[]) => void} */
function checkList (what, list, expected) {
  if (list.join() === expected.join()) return
  const describe = (/** @type {number[]} */ { length }, /** @type {number[]} */ some) => `${length} records: ${some}`
  throw new Violation('wrong answer', `${what} there are ${describe(list, list.slice(0, 20))}, not ` +
    describe(expected, expected.slice(0, 20)))
}

/**
 * What is in the files, compressed or not. What recovery has cut is left out: where the file system could not write, it
 * may show what its blocks were before.
 * @param {string} folder
 */
function contentsOf (folder) {
  const names = fs.readdirSync(folder).filter((name) => !name.includes('.cut-'))
  return names.flatMap((where) => {
    const bytes = fs.readFileSync(path.join(folder, where))
    return where.endsWith('.gz') ? [{ where, bytes }, { where, bytes: zlib.gunzipSync(bytes) }] : [{ where, bytes }]
  })
}

exports.examineFolder = examineFolder
