const { makeOffsetImages } = require('./offset-images')
const { SimulatedDisk } = require('@millrace/testkit')
const { verify } = require('../..')
async function main () {
  const im = (await makeOffsetImages()).find(i => i.name==='offset48, 60 records')
  console.log(im.starts.filter(s=>s>8300&&s<9600))
  const b = Buffer.from(im.bytes); b.fill(0, 8704, 9216)
  console.log(b.subarray(9190,9240).toString('hex'), im.bytes.subarray(9190,9240).toString('hex'))
}
main()
