const { makeImages } = require('./images')
const { SimulatedDisk } = require('@millrace/testkit')
const { repair } = require('../..')
async function main () {
  for (const image of await makeImages()) {
    const res = {}
    await Promise.all(image.model.chunks.flatMap((c, i) => [[0,40],[0,4],[4,8],[0,8],[4,12],[8,16],[16,22],[22,28],[28,32],[32,36],[36,40],[10,12],[0,20],[20,40],[30,40],[12,34]].map(async ([a,b]) => {
      const bytes = Buffer.from(image.bytes); for (let k=a;k<b;k++) bytes[c.at+k]^=0x5a
      const disk = new SimulatedDisk({defer:queueMicrotask}); disk.put('/f/l', bytes)
      const r = await repair('/f/l','/f/o',{storage:disk.storage}).catch(e=>e)
      const key=a+'-'+b
      res[key] ??= [0,0,0]
      if (r instanceof Error) { res[key][2]++; return }
      if (r.lostCount===0 && !r.tail) res[key][0]++; else if (r.tail) res[key][2]++; else res[key][1]++
    })))
    console.log(image.name, image.model.chunks.length, JSON.stringify(res))
  }
}
main()
