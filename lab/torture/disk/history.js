'use strict'
// One disk from its beginning: sessions run on it, the power goes, what is left is examined, and on one of the images
// the next generation of sessions runs. All that is random follows from the campaign's seed and the history's number.

const { spawn } = require('node:child_process')
const crypto = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { mixSeed, pickWeighted, seededRandom } = require('../seeded')
const { Violation } = require('../violation')
const { makeFileSystem } = require('./mounts')
const { AFTER_ALL, DiskRecord, now } = require('./record')

const LOG_NAME = 'log'
const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const FSYNC_MODES = ['always', 'interval', 'never']
const DATA_MODES = /** @type {const} */ (['ordered', 'writeback'])
const GENERATIONS_MAX = 4
const STATES_PER_GENERATION = 16
const ENDINGS = [[3, 'close'], [1, 'exit'], [1, 'end'], [3, 'kill']]
/** @type {Array<[weight: number, value: string]>} */
const FAULTS = [[4, 'data'], [2, 'sync'], [1, 'any']]
// Of what a failure leaves.
const BASE_NAME = 'base'
const RECORD_NAME = 'record'
const STORY_NAME = 'story.json'
const NEIGHBOUR_MS_MAX = 7
const EXIT_KILLED = 'SIGKILL'

/**
 * @typedef {{ fsync: string, fault: string | null }} Plan  of a generation
 * @typedef {object} StateReport  of one that was examined
 * @property {string} data
 * @property {string} fsync
 * @property {'cut' | 'fault'} kind  whether something failed in the generation, besides the power
 * @property {number} generation
 * @property {string} digest  of the image
 * @property {boolean} hasRecovered
 */

/**
 * What is tortured.
 * @typedef {object} Subject
 * @property {string} logModule  the package that ships
 * @property {string} command  how the torture is run
 * @property {string} session  the script of a session
 * @property {Array<'ordered' | 'writeback'>} [dataModes]  of the file system; both by default
 * @property {boolean} [canFail]  false: the disk never fails in a session, it only loses power
 * @property {(random: (limit: number) => number) => any} pickSettings  of a log: the same for all sessions of a history
 * @property {(salt: number, settings: any) => import('./story').Story} createStory
 * @property {(logModule: string, file: string) => any} open  a new log in the file, or folder, of this name
 * @property {(state: SubjectState) => Promise<{ hasRecovered: boolean }>} examine  throws a Violation
 *
 * @typedef {object} SubjectState
 * @property {string} root  where the disk is mounted
 * @property {string} file  of the log
 * @property {string} logModule
 * @property {any} settings
 * @property {import('./story').Story} story
 * @property {number} at  when the power went
 * @property {number[]} seed  of what is done
 */

/**
 * @typedef {object} Failure
 * @property {string} kind
 * @property {string} message
 * @property {number} generation
 * @property {number | null} state  null if the sessions failed
 * @property {string | null} record  the folder that has all to examine it again
 */

/**
 * @typedef {object} HistoryContext
 * @property {import('./mounts').Mounts} mounts
 * @property {string} folder  of one's own
 * @property {string} logModule
 * @property {Subject} subject
 * @property {(id: string | null) => void} boot  changes the id of the running kernel for processes that begin; null: as
 *   it is for this one
 * @property {() => boolean} goesOn  false ends it early
 * @property {(state: StateReport) => void} onState
 * @property {(failure: Failure) => void} onFailure
 * @property {{ generation: number, state: number | null } | null} only
 * @property {string | null} record  a folder that a failure has left: its states are examined again
 */

class History {
  /**
   * @param {number} seed
   * @param {number} index
   * @param {HistoryContext} context
   */
  constructor (seed, index, context) {
    this._seed = [seed, index]
    this._context = context
    const random = seededRandom(seed, index)
    const blockSize = random(3) === 0 ? 1024 : 4096
    this._fileSystem = {
      data: (context.subject.dataModes ?? DATA_MODES)[index % (context.subject.dataModes ?? DATA_MODES).length],
      isDelayed: random(2) === 0,
      blockSize,
      sizeMib: blockSize === 1024 ? 20 : 32
    }
    this._firstMode = Math.floor(index / 2)
    this._generations = 1 + random(GENERATIONS_MAX)
    /** A disk may also go away and come back under the running kernel. */
    this._hasReboots = random(3) > 0
    this._salt = mixSeed(seed, index, 1) >>> 1
    this._settings = context.subject.pickSettings(seededRandom(seed, index, 6))
    this._story = context.subject.createStory(this._salt, this._settings)
    this._file = path.join(context.mounts.root, LOG_NAME)
    this._image = path.join(context.folder, 'base')
    this._next = path.join(context.folder, 'next')
    this._crashed = path.join(context.folder, 'crashed')
  }

  async run () {
    const { only, record } = this._context
    if (record !== null) return this._runKept(record)
    this._metadata = await makeFileSystem(this._image, this._fileSystem, mixSeed(...this._seed))
    for (let generation = 0; generation < this._generations && this._context.goesOn(); generation++) {
      if (only && generation > only.generation) return
      if (!await this._live(generation)) return
    }
  }

  /**
   * @param {number} generation
   * @returns {Promise<boolean>}  whether the next one can follow
   */
  async _live (generation) {
    const { onFailure, subject: { canFail = true } } = this._context
    const random = seededRandom(...this._seed, generation, 1)
    const plan = {
      fsync: FSYNC_MODES[(this._firstMode + generation) % FSYNC_MODES.length],
      fault: random(3) === 0 && canFail ? pickWeighted(random, FAULTS) : null
    }
    try {
      await this._runSessions(generation, plan, random)
      this._story.ledgerAt(AFTER_ALL)
    } catch (err) {
      if (!(err instanceof Violation)) throw err
      const record = this._keep(generation, null, plan)
      onFailure({ kind: err.kind, message: err.message, generation, state: null, record })
      return false
    }
    return this._examineStates(generation, plan)
  }

  /**
   * @param {number} generation
   * @param {Plan} plan
   * @param {(limit: number) => number} random
   */
  async _runSessions (generation, { fsync, fault }, random) {
    const { mounts, logModule } = this._context
    this._context.boot(this._hasReboots ? `${crypto.randomUUID()}\n` : null)
    fs.rmSync(mounts.control, { force: true })
    await mounts.mountRecorded(this._image, this._fileSystem, /** @type {any} */ (this._metadata))
    const neighbour = random(2) === 0 ? new Neighbour(path.join(mounts.root, 'other')) : null
    try {
      const count = 1 + random(4)
      const faultAt = fault === null ? -1 : random(count)
      for (let index = 0; index < count; index++) {
        if (faultAt >= 0 && index > faultAt && random(2) === 0) await mounts.forgetPages(this._file).catch(() => {})
        this._story.add([{ what: 'begin', at: now(), fsync, hasLostPower: index === 0 }])
        await this._runSession({
          logModule,
          file: this._file,
          settings: this._settings,
          fsync,
          salt: this._salt,
          seed: [...this._seed, generation, index, 2],
          firstId: this._story.nextId,
          steps: 2 + random(22),
          fault: index === faultAt ? fault : null,
          mayFail: faultAt >= 0 && index > faultAt,
          control: mounts.control,
          ending: /** @type {any} */ (pickWeighted(random, /** @type {any} */ (ENDINGS)))
        })
        fs.rmSync(mounts.control, { force: true })
      }
    } finally {
      await neighbour?.end()
      await mounts.unmountRecorded()
    }
  }

  /**
   * @param {number} generation
   * @param {number | null} state  that failed; null if the sessions did
   * @param {Plan} plan
   * @returns {string | null}  the folder in which all of it is kept
   */
  _keep (generation, state, plan) {
    const { mounts, record } = this._context
    const [seed, history] = this._seed
    if (record !== null) return null
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-disk-'))
    fs.copyFileSync(this._image, path.join(folder, BASE_NAME))
    fs.copyFileSync(mounts.record, path.join(folder, RECORD_NAME))
    const { events } = this._story
    const story = { seed, only: [history, generation, ...(state === null ? [] : [state])].join('.'), plan, events }
    fs.writeFileSync(path.join(folder, STORY_NAME), JSON.stringify(story))
    return folder
  }

  /** @param {string} folder */
  async _runKept (folder) {
    const { mounts, only } = this._context
    const { plan, events } = JSON.parse(fs.readFileSync(path.join(folder, STORY_NAME), 'utf8'))
    fs.copyFileSync(path.join(folder, BASE_NAME), this._image)
    fs.copyFileSync(path.join(folder, RECORD_NAME), mounts.record)
    this._story.add(events)
    await this._examineStates(only?.generation ?? 0, plan)
  }

  /** @param {import('./session').SessionOptions} options */
  async _runSession (options) {
    const args = ['--pdeathsig', 'KILL', process.execPath, this._context.subject.session, JSON.stringify(options)]
    const child = spawn('setpriv', args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
    let told = ''
    let errors = ''
    child.stdio[3]?.on('data', (text) => { told += text })
    child.stderr?.on('data', (text) => { errors += text })
    const [code, signal] = await once(child, 'close')
    const lines = told.split('\n')
    this._story.add(lines.slice(0, -1).map((line) => JSON.parse(line)))
    if (code === 0 || signal === EXIT_KILLED) return
    throw new Violation('thrown', `a session ended with ${code ?? signal}: ${errors}`)
  }

  /**
   * @param {number} generation
   * @param {Plan} plan
   * @returns {Promise<boolean>}
   */
  async _examineStates (generation, plan) {
    const { mounts, goesOn, only, onFailure } = this._context
    const record = new DiskRecord(this._image, mounts.record)
    const random = seededRandom(...this._seed, generation, 3)
    const chosen = random(STATES_PER_GENERATION)
    // In the order of the disk's life: each image is made from the one before.
    const indices = Array.from({ length: STATES_PER_GENERATION }, () => record.pickMoment(random)).sort((a, b) => a - b)
    indices[indices.length - 1] = record.entries.length
    let nextAt = AFTER_ALL
    for (const [state, index] of indices.entries()) {
      if (!goesOn()) return false
      const image = record.makeImage(index, seededRandom(...this._seed, generation, state, 4))
      if (state === chosen) {
        fs.writeFileSync(this._next, image)
        nextAt = record.timeOf(index)
      }
      if (only && (generation !== only.generation || (only.state !== null && state !== only.state))) continue
      try {
        await this._examine(image, record.timeOf(index), { generation, state, plan })
      } catch (err) {
        if (!(err instanceof Violation)) throw err
        const kept = this._keep(generation, state, plan)
        onFailure({ kind: err.kind, message: err.message, generation, state, record: kept })
      }
    }
    this._story.cutAt(nextAt)
    fs.renameSync(this._next, this._image)
    return true
  }

  /**
   * @param {Buffer} image
   * @param {number} at  when the power went
   * @param {{ generation: number, state: number, plan: Plan }} where
   */
  async _examine (image, at, { generation, state, plan: { fsync, fault } }) {
    const { mounts, logModule, subject, onState } = this._context
    fs.writeFileSync(this._crashed, image)
    await mounts.mountImage(this._crashed, this._fileSystem)
    try {
      const { hasRecovered } = await subject.examine({
        root: mounts.root,
        file: this._file,
        logModule,
        settings: this._settings,
        story: this._story,
        at,
        seed: [...this._seed, generation, state, 5]
      })
      const digest = crypto.createHash('sha256').update(image).digest('hex').slice(0, 16)
      onState({ data: this._fileSystem.data, fsync, kind: fault === null ? 'cut' : 'fault', generation, digest, hasRecovered })
    } finally {
      await mounts.unmountImage()
    }
  }
}

/** Another program that syncs a file of its own all the time, and so the journal of the file system. */
class Neighbour {
  /** @param {string} file */
  constructor (file) {
    this._isOver = false
    this._ended = this._run(file)
  }

  /** @param {string} file */
  async _run (file) {
    const handle = await fs.promises.open(file, 'a')
    for (let count = 0; !this._isOver; count++) {
      // It may be one of those for whom the disk fails.
      await handle.write(String(count % 10)).then(() => handle.sync()).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, count % NEIGHBOUR_MS_MAX))
    }
    await handle.close().catch(() => {})
  }

  async end () {
    this._isOver = true
    await this._ended
  }
}

exports.BOOT_ID = BOOT_ID
exports.History = History
exports.STORY_NAME = STORY_NAME
