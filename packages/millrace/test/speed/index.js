'use strict'
// How fast the command is beside the API doing the same work: each a process of its own, in turns. Usage:
// node packages/millrace/test/speed [records] [runs]. It fails if a command has less than 0.6 of the API's speed.

const { spawn } = require('node:child_process')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { open } = require('../..')
const { BIN } = require('../run-command')

const LEAST = 0.6
const API = path.join(__dirname, 'api.js')

main(Number(process.argv[2] ?? 200_000), Number(process.argv[3] ?? 5))

async function main (count, runs) {
  const file = path.join(temporaryFolder(), 'big.log')
  await makeLog(file, count)
  const jobs = { cat: ['cat'], count: ['count'], 'count --where': ['count', '--where', 'type=post'] }
  for (const [name, words] of Object.entries(jobs)) {
    const times = { api: [], command: [] }
    for (let run = 0; run < runs; run++) {
      times.api.push(await measure([API, file, name]))
      times.command.push(await measure([BIN, ...words, file]))
    }
    const [api, command] = [median(times.api), median(times.command)]
    const ratio = api / command
    if (ratio < LEAST) process.exitCode = 1
    console.log(`${name.padEnd(14)} API ${api.toFixed(0)} ms, command ${command.toFixed(0)} ms: ${ratio.toFixed(2)} of its speed`)
  }
}

async function makeLog (file, count) {
  const log = open(file, { fsync: 'never' })
  for (let n = 0; n < count; n += 1000) {
    await log.append(Array.from({ length: 1000 }, (_, i) => ({
      n: n + i, type: i % 3 === 0 ? 'post' : 'vote', author: `@${i % 97}`, content: { text: 'word '.repeat(i % 150), likes: [i, i + 1] }
    })))
  }
  await log.close()
}

/** @param {string[]} words @returns {Promise<number>}  ms, until all of the output was read */
function measure (words) {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.on('close', (code) => code === 0 ? resolve(performance.now() - began) : reject(new Error(`${words.join(' ')} failed`)))
  })
}

function median (times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]
}
