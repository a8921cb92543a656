'use strict'
// The crash test for as long as you like: simulated power cuts and kills before the steps of appending, rolling,
// deleting, dropping, compressing and inflating. Usage: npm run torture:segments -- [--seconds 600] [--seed 1]

const { parseArgs } = require('node:util')
const { createRandom } = require('@millrace/testkit')
const { runRound } = require('./crash-story')

async function main () {
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' } } })
  const seconds = Number(values.seconds ?? 600)
  const seed = Number(values.seed ?? Date.now() % 2 ** 31)
  if (!(seconds > 0) || !Number.isSafeInteger(seed)) throw new Error('expected a number of seconds and a seed')
  console.log(`seed ${seed}, ${seconds} seconds`)
  const random = createRandom(seed)
  const endMs = performance.now() + 1000 * seconds
  let imageCount = 0
  let faultCount = 0
  for (let round = 1; performance.now() < endMs; round++) {
    const result = await runRound(random, { imageEvery: 1 })
    imageCount += result.imageCount
    faultCount += result.faults.length
    for (const fault of result.faults) console.log(`round ${round}: ${fault}`)
  }
  console.log(`${imageCount} crashes, ${faultCount} faults`)
  process.exitCode = faultCount > 0 ? 1 : 0
}

main().catch((err) => {
  console.error(`torture: ${err.message}`)
  process.exitCode = 2
})
