'use strict'
// One lane of the campaign: histories, one after the other, in a mount namespace that ends with it.
// Usage, by index.js: unshare -m node lane.js <JSON of LaneOptions>, with a channel for messages

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { BOOT_ID, History } = require('./history')
const { Mounts } = require('./mounts')

/**
 * @typedef {object} LaneOptions
 * @property {string} folder  of its own
 * @property {string} subject  the module of what is tortured
 * @property {string} logModule
 * @property {number} seed
 * @property {number} first  number of the first history
 * @property {number} stride  from one to the next
 * @property {{ history: number, generation: number, state: number | null } | null} only
 * @property {string | null} record  a folder that a failure has left
 */

/** @param {LaneOptions} options */
async function run ({ folder, subject: subjectModule, logModule, seed, first, stride, only, record }) {
  /** @type {import('./history').Subject} */
  const subject = require(subjectModule)
  const state = { isOver: false }
  process.on('message', () => { state.isOver = true })
  process.on('disconnect', () => process.exit(1))
  await learnBoot(subject.open(logModule, path.join(folder, 'first')))
  const bootId = fs.readFileSync(BOOT_ID, 'latin1')
  const bootFile = path.join(folder, 'boot-id')
  fs.writeFileSync(bootFile, bootId)
  execFileSync('mount', ['--bind', bootFile, BOOT_ID])
  const send = (/** @type {any} */ message) => process.send?.(message)
  for (let index = only?.history ?? first; !state.isOver; index += stride) {
    const own = path.join(folder, String(index))
    fs.mkdirSync(own)
    const history = new History(seed, index, {
      mounts: new Mounts(own),
      folder: own,
      subject,
      logModule,
      boot: (id) => fs.writeFileSync(bootFile, id ?? bootId),
      goesOn: () => !state.isOver,
      onState: (examined) => send({ state: examined }),
      onFailure: (failure) => send({ failure: { ...failure, history: index } }),
      only,
      record
    })
    await history.run()
    if (only !== null) state.isOver = true
    fs.rmSync(own, { recursive: true, force: true })
  }
  process.exit(0)
}

/**
 * A process learns once which kernel it runs under. This one keeps what it has learned, and the sessions get other ids.
 * @param {any} log  a new one
 */
async function learnBoot (log) {
  await log.ready()
  await log.close()
}

run(JSON.parse(process.argv[2])).catch((err) => {
  console.error(err)
  process.exit(1)
})
