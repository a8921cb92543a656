'use strict'
// Runs the injuries of repair.test.js with many seeds: node packages/repair/test/salvage [first] [count] [step].
// 2,000 seeds take hours, and can be run in pieces. The exit code is 1 if any seed has a fault.

const { checkSalvage } = require('./check-salvage')
const { makeImages } = require('./images')
const { makeOffsetImages } = require('./offset-images')

const [first = 1, count = 100, step = 1] = process.argv.slice(2).map(Number)

async function main () {
  const images = [...await makeImages(), ...await makeOffsetImages()]
  let caseCount = 0
  let faultCount = 0
  for (let index = 0; index < count; index++) {
    const seed = first + index * step
    const { cases, faults } = await checkSalvage({ images, seed, samples: 0.4 })
    caseCount += cases
    faultCount += faults.length
    for (const fault of faults) console.log(`seed ${seed}: ${fault}`)
  }
  console.log(`${count} seeds from ${first} on, every ${step}: ${caseCount} injuries, ${faultCount} faults`)
  process.exitCode = faultCount > 0 ? 1 : 0
}

main()
