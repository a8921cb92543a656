const { makeImages } = require('./images')
const { makeOffsetImages } = require('./offset-images')
const { checkSalvage } = require('./check-salvage')
async function main () {
  const only = process.argv[4]
  const images = [...only === 'offset' ? [] : await makeImages(), ...await makeOffsetImages()]
  const started = Date.now()
  const tally = await checkSalvage({ images: images.filter(i=>!only||i.name.includes(only)), seed: Number(process.argv[2]||1), samples: Number(process.argv[3]||3), everyByte: process.argv[5] === 'all' })
  console.log({ ...tally, faults: tally.faults.length }, Date.now()-started, 'ms')
  for (const f of tally.faults.slice(0, 12)) console.log('-', f.slice(0, 900))
}
main()
