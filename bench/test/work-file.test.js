'use strict'

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { withFolder, writeWhole } = require('../lib/work-file')
const { makeFolder } = require('./support')

const BENCH = path.join(__dirname, '..', 'index.js')

/** Ends a bench while it makes its logs, once both are begun. */
async function interrupt (t, signal) {
  const out = makeFolder(t)
  const generated = path.join(out, 'data', 'generated')
  const child = spawn(process.execPath, [BENCH, '--records', '1000000', '--out', out], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const isBegun = () => {
    return fs.existsSync(generated) && fs.readdirSync(generated).filter((name) => /offset32.*\.partial$/.test(name)).length === 2
  }
  const hasEnded = once(child, 'exit')
  while (!isBegun() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20))
  t.ok(child.kill(signal), 'it was at work')
  await hasEnded
  return generated
}

tape('work file: a bench that is interrupted while it makes its logs leaves nothing of them', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM']) t.notOk(fs.existsSync(await interrupt(t, signal)), signal)
})

tape('work file: what a killed bench left is cleared by the next one that makes something', async (t) => {
  const generated = await interrupt(t, 'SIGKILL')
  t.ok(fs.readdirSync(generated).length >= 2)
  await writeWhole([path.join(generated, 'log')], async ([draft]) => fs.writeFileSync(draft, 'whole'))
  t.deepEqual(fs.readdirSync(generated), ['log'])
})

tape('work file: only what nobody is at work on is cleared', async (t) => {
  const folder = makeFolder(t)
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  const own = process.pid
  const kept = ['log', `log.${process.ppid}.partial`, `log.${process.ppid}.partial.lock`, 'log.partial', `log.${dead}.partially`]
  const left = [`log.${dead}.partial`, `log.${dead}.partial.lock`, `log.${own}.partial`, `other.${own}.partial.lock`]
  for (const name of [...kept, ...left]) fs.writeFileSync(path.join(folder, name), name)
  fs.mkdirSync(path.join(folder, `scale.${dead}.partial`, 'deep'), { recursive: true })
  await withFolder(folder, 'scale', async (work) => {
    fs.writeFileSync(path.join(work, 'file'), 'x')
    await writeWhole(['log', 'other'].map((name) => path.join(folder, name)), async (drafts) => {
      // An earlier process may have had the same number: going on with its log would give a log that is too long.
      t.notOk(drafts.some((draft) => fs.existsSync(draft)), 'drafts are new')
      for (const draft of drafts) fs.writeFileSync(draft, 'new')
      await writeWhole([path.join(folder, 'third')], async ([draft]) => fs.writeFileSync(draft, 'third'))
      t.ok(drafts.every((draft) => fs.existsSync(draft)) && fs.existsSync(path.join(work, 'file')), 'its own go on')
    })
  })
  t.deepEqual(fs.readdirSync(folder).sort(), [...kept, 'other', 'third'].sort())
  t.equal(fs.readFileSync(path.join(folder, 'log'), 'utf8'), 'new')
})
