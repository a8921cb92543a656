// @ts-nocheck
'use strict'
// Processes that are killed while their callers append with conditions: what was told to be accepted is there, and no
// condition is broken.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { chooseSetting, examine, openLog } = require('./history')

/** Kills of one log. */
const KILLS = 4
/** Of a process that has opened the log. */
const LIFE_MS_MAX = 400

/**
 * One log, and several processes after each other.
 * @param {number} seed
 * @returns {Promise<{ kills: number, acceptedCount: number, faults: string[] }>}
 */
async function runKills (seed) {
  const random = createRandom(seed)
  const setting = chooseSetting(random)
  const folder = temporaryFolder()
  const file = setting.kind === 'segments' ? folder : path.join(folder, 'events.log')
  /** Batches that the parent has heard of. @type {Set<number>} */
  const accepted = new Set()
  const faults = []
  let next = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const child = fork(path.join(__dirname, 'child.js'))
    const gone = once(child, 'exit')
    let isOpen = () => {}
    const opened = new Promise((resolve) => { isOpen = () => resolve(null) })
    child.on('message', (told) => {
      if (told.isOpen) isOpen()
      else if (told.fault) faults.push(told.fault)
      else accepted.add(told.batch)
    })
    child.send({ setting, file, seed: random(1e9), first: next })
    await Promise.race([opened, gone])
    await Promise.race([sleep(random(LIFE_MS_MAX)), gone])
    child.kill('SIGKILL')
    const [code] = await gone
    if (code !== null) faults.push(`the child ended with ${code}`)
    const log = openLog(setting, file)
    await log.ready()
    const { faults: found, last } = await examine(log, accepted)
    await log.close()
    faults.push(...found)
    // What was not written had numbers, too.
    next = Math.max(last, next) + 1_000_000
  }
  const told = faults.map((fault) => `seed ${seed} (${JSON.stringify(setting)}): ${fault}`)
  return { kills: KILLS, acceptedCount: accepted.size, faults: told }
}

exports.runKills = runKills
