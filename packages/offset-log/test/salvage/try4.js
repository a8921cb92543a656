const fs=require('fs')
const { OffsetLog, verify } = require('../..')
const { temporaryFolder, createRandom } = require('@millrace/testkit')
async function main(){
  for (const framing of ['checked','offset48']) {
  const dir=temporaryFolder(), f=dir+'/log'
  const random=createRandom(5)
  const log=OffsetLog(f,{framing, fsync:'interval'})
  await log.ready()
  const model=new Map(), deleted=new Set()
  let stop=false, seqs=[]
  const writer=(async()=>{ while(!stop){ const d=Buffer.from(Array.from({length:1+random(random(10)?300:40000)},()=>1+random(255))); const s=await log.append(d); model.set(s,d); seqs.push(s); if(random(3)===0) await new Promise(setImmediate) } })()
  const deleter=(async()=>{ while(!stop){ await new Promise(r=>setTimeout(r,1)); if(seqs.length>20){ const s=seqs[random(seqs.length)]; if(!deleted.has(s)){ deleted.add(s); await log.del(s) } } } })()
  for(let k=0;k<8;k++){
    await new Promise(r=>setTimeout(r,100))
    const before=new Set(deleted), n=seqs.length, since=log.since.value
    const t0=Date.now()
    await log.snapshot(dir+'/snap'+k)
    const after=new Set(deleted)
    const ms=Date.now()-t0
    const r=await verify(dir+'/snap'+k)
    const s=OffsetLog(dir+'/snap'+k); await s.ready()
    const got=new Map(); for await (const {seq,value} of s.stream()) got.set(seq,value)
    let bad=0
    for(const [q,d] of got) if(!model.get(q)?.equals(d) ) bad++
    for(const [q,d] of model) if(q<=since && !after.has(q) && !got.has(q)) bad++
    console.log(framing,k,'records',got.size,'of',n,'bad',bad,'sound',r.isSound,r.damage.length, r.undeleted, s.recovery, ms,'ms')
    await s.close()
  }
  stop=true; await writer; await deleter; await log.close()
  console.log((await verify(f)).isSound, fs.readdirSync(dir).join())
  }
}
main()
