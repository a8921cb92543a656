'use strict'
// The fuzzer itself: it finds bugs that are planted, prints lines that show them again, and the same seed makes the
// same cases.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { isLongRun, temporaryFolder } = require('@millrace/testkit')
const { runFuzz } = require('../fuzz/run-fuzz')
const { FreshMemory } = require('../fuzz/surroundings')
const { targets } = require('../fuzz/targets')

const ROOT = path.join(__dirname, '..', '..')
const CLI = path.join(__dirname, '..', 'fuzz', 'index.js')

/** @type {Array<{ what: string, target: string, file: string, line: string, planted: string, kinds: string[] }>} */
const PLANTED = [
  {
    what: 'an array whose last item reaches past its end',
    target: 'records',
    file: 'binary-codec/lib/decode.js',
    line: 'const tag = requireTag(buf, pos, end)\n    const valuePos',
    planted: "const tag = require('./wire-format').readTag(buf, pos, end)\n    if (tag < 0) throw damaged(pos, 'no tag')\n    const valuePos",
    kinds: ['two answers', 'wrong answer', 'no code']
  },
  {
    what: 'no bound to how deep arrays are nested',
    target: 'records',
    file: 'binary-codec/lib/decode.js',
    line: 'if (depth > DEPTH_MAX) throw',
    planted: 'if (depth > 1e6) throw',
    kinds: ['no code', 'wrong answer']
  },
  {
    what: 'a slot that is believed whatever it says',
    target: 'logs',
    file: 'framing/lib/head.js',
    line: 'if (slot !== null && isPossible(slot, header)) return slot',
    planted: 'if (slot !== null) return slot',
    kinds: ['thrown', 'no code', 'wrong answer']
  }
]

/** A copy of all packages, with one bug in it. */
function plant ({ file, line, planted }) {
  const root = temporaryFolder()
  for (const name of fs.readdirSync(path.join(ROOT, 'packages'))) {
    for (const part of ['lib', 'index.js', 'survey.js', 'copies.js', 'package.json']) {
      const from = path.join(ROOT, 'packages', name, part)
      if (fs.existsSync(from)) fs.cpSync(from, path.join(root, 'packages', name, part), { recursive: true })
    }
  }
  linkModules(root)
  const patched = path.join(root, 'packages', file)
  const source = fs.readFileSync(patched, 'utf8')
  if (!source.includes(line)) throw new Error(`${file} does not have ${line}`)
  fs.writeFileSync(patched, source.replace(line, () => planted))
  return root
}

/** The packages of others are ours, too; ours are the copies. */
function linkModules (root) {
  const modules = path.join(root, 'node_modules')
  fs.mkdirSync(path.join(modules, '@millrace'), { recursive: true })
  for (const name of fs.readdirSync(path.join(ROOT, 'node_modules'))) {
    if (name.startsWith('.') || name === '@millrace') continue
    fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name))
  }
  for (const name of fs.readdirSync(path.join(root, 'packages'))) {
    fs.symlinkSync(path.join(root, 'packages', name), path.join(modules, '@millrace', name))
  }
}

function runCli (...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

// Its header says that a dictionary packed the records, and all checksums hold, but none was packed.
const FORGED_WORDS = '{"version":1,"target":"repair","plan":{"write":true,"pick":220381414,"isSteady":true,"isOrdinary":false,"known":null},"bytes":"7d09KMVRFADw-w8p5assDBYGlCwWi0mkDEwshifPItN7A4vEwobI8zkZLDIYvZJBMRgUsZKPsolZ-EeYZEO_33A659473e126typ1o62woKKghCF_Lalu86H4sWdwa3j2YeJi-qD6_n98GIsRHl9I-lkKnw1WbrxFAAAAIBfb3q5K37jh9wQQvSajA9-ipXxXrSa7j9zVwAAAPBXTen_AwAAwL-X6cr2xknOt_3_6H0VAAAAAAAAAAAAAAAAAAAAAAAAAPiZ-6tUJpFMDIT6uIwnAI6Fj_j6J8Db0drF29Ghy4a94bq5mcKW7Zvy08am9aPjmpOSlUzZ4dHm0G5zdzLb_nh-3VO0cFi19gw"}'

// 12,258 empty records, on a clock by which each takes longer than a slice.
const MANY_TURNS = JSON.stringify({
  version: 1,
  target: 'logs',
  plan: {
    flags: 'r',
    verify: true,
    onCorrupt: 'error',
    maxRecordSize: 1073741824,
    seqs: [0, 8],
    bound: 7,
    append: 21,
    deletes: true,
    pick: 402546107,
    isSteady: false,
    order: 'never',
    known: null
  },
  bytes: [
    '7d0xSkNBEADQWQ0oH7yAJFh6jDRiECyttBKUWHmGNEJyggSElLaeQPQIKXMDBUlln-h-o35-KQSMvFfMzrLddLvL7A4Ojzs7',
    'xW4RKSJtbDZaNfGhF6lxdX59ETU3d0eTAAAAAP689sHzsEy2IvIZQN7t_8SllE8G1AoAAADW1cD9PwAAAPx7_bOToky2l_f_',
    'afHyHb-kvdfRXK0AAAAAAAAAAAAAAAAAAAAAAAAA4Lemt2-n3YdWtz0tp5UfAD_5-Q8AAAAAAAAAAAAAAAAAAABWrzm53K_3',
    '_z9V1vP7AKoEAAAAAAAAAAAAAAAAAAAAq3U_fpzV-v9TdT2_D5DHdw'
  ].join('')
})

tape('fuzz: a part of a pool is never handed out as memory of its own', (t) => {
  const { poolSize } = Buffer
  const memory = new FreshMemory()
  const restore = memory.install()
  const own = []
  try {
    // As Node.js has it from version 24 on.
    Buffer.poolSize = 65536
    memory.isRecycled = true
    for (let count = 0; count < 8; count++) Buffer.allocUnsafe(8192)
    memory.recycle()
    for (let count = 0; count < 8; count++) own.push(Buffer.allocUnsafeSlow(8192), Buffer.alloc(8192))
  } finally {
    restore()
    Buffer.poolSize = poolSize
  }
  t.deepEqual(own.filter(({ buffer }) => buffer.byteLength !== 8192).length, 0)
  t.end()
})

tape('fuzz: a record that holds by its checksum is kept by a repair, even if it cannot be unpacked', (t) => {
  const { status, stdout } = runCli('--replay', FORGED_WORDS)
  t.equal(status, 0, stdout)
  t.end()
})

tape('fuzz: a stream that lets others have a turn before each of many records is not taken for one that hangs', (t) => {
  const { status, stdout } = runCli('--replay', MANY_TURNS)
  t.equal(status, 0)
  t.ok(stdout.endsWith('all is as it should be\n'))
  t.end()
})

tape('fuzz: the same seed makes the same cases, and all is well', async (t) => {
  const counts = Object.fromEntries(targets.map(({ name, isSync }) => [name, isSync ? 1000 : 40]))
  const runs = []
  for (let round = 0; round < 2; round++) runs.push(await runFuzz({ seed: 7, workers: 1, counts }))
  const [one, other] = runs.map(({ figures }) => figures.map((figure) => ({ ...figure })))
  t.deepEqual(one.map(({ target }) => target), targets.map(({ name }) => name))
  t.deepEqual(one, other)
  t.deepEqual(runs[0].reports, [])
})

for (const [index, bug] of PLANTED.entries()) {
  tape(`fuzz: finds a planted bug, ${bug.what}, and shows it again`, { skip: index > 0 && !isLongRun }, async (t) => {
    const root = plant(bug)
    const counts = Object.fromEntries(targets.map(({ name }) => [name, name === bug.target ? 20_000 : 0]))
    const { reports } = await runFuzz({ seed: 11, workers: 1, counts, root, seconds: 60, shrinks: false })
    t.ok(reports.length > 0, 'found')
    if (reports.length === 0) return
    const [{ kind, replay }] = reports
    t.ok(bug.kinds.includes(kind), kind)
    const failed = runCli('--replay', replay, '--root', root)
    t.equal(failed.status, 1)
    t.ok(/^FAILED/m.test(failed.stdout), 'says so')
    t.equal(runCli('--replay', replay).status, 0, 'without the bug all is well')
  })
}

tape('fuzz: the command line says what is wrong with it', (t) => {
  for (const args of [['--no'], ['--only', 'cats'], ['--records'], ['--seconds', 'x'], ['--replay', '{}'], ['--root', '/no']]) {
    const { status, stderr } = runCli(...args)
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /^fuzz: .*--help/)
  }
  t.match(runCli('--help').stdout, /--replay TEXT/)
  t.end()
})
