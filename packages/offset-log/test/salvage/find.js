const { makeImages } = require('./images')
const { makeOffsetImages } = require('./offset-images')
const { createRandom, SimulatedDisk } = require('@millrace/testkit')
const { kinds } = require('./injuries')
const { repair, verify } = require('../..')
exports.find = async function (seed, samples, name, kind, label) {
  const images = [...await makeImages(), ...await makeOffsetImages()]
  const random = createRandom(seed)
  for (const image of images) for (const [k, make] of Object.entries(kinds)) for (let s=0;s<samples;s++) {
    const injury = make(image, random)
    if (injury && image.name===name && k===kind && injury.label===label) return { image, injury }
  }
}
