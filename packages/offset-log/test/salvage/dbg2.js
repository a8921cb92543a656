const { find } = require('./find')
const { SimulatedDisk } = require('@millrace/testkit')
const { repair, verify } = require('../..')
const { Judge } = require('../../lib/framing/checked/salvage/judge')
const orig = Judge.prototype.note
Judge.prototype.note = function (...a) { console.log('note', a.slice(0,3), new Error().stack.split('\n').slice(2,5).map(s=>s.trim().split(' ')[1]).join(' < ')); return orig.apply(this, a) }
async function main () {
  const r2 = await find(100, 40, 'several crashes, not closed', 'zeroedRange', 'zeros from 34678 to 34703')
  const disk = new SimulatedDisk(); disk.put('/f/l', r2.injury.bytes)
  const r = await verify('/f/l',{storage:disk.storage})
  console.log(r.damage)
}
main()
