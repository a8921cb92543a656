'use strict'
// The runner: what it refuses, how it ends a file that hangs, and that it repeats. It runs in a small house of its own.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const tape = require('tape')

/** @param {Record<string, string>} files  of a package `one`: test file to code */
function makeHouse (files) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-run-'))
  const tests = path.join(folder, 'packages', 'one', 'test')
  fs.mkdirSync(path.join(folder, 'test'))
  fs.mkdirSync(tests, { recursive: true })
  for (const name of ['run.js', 'run-file.js', 'silence.js']) fs.copyFileSync(path.join(__dirname, name), path.join(folder, 'test', name))
  fs.symlinkSync(path.join(__dirname, '..', 'node_modules'), path.join(folder, 'node_modules'), 'junction')
  for (const [name, code] of Object.entries(files)) fs.writeFileSync(path.join(tests, name), code)
  return folder
}

/** @type {(folder: string, args: string[]) => { status: number | null, text: string }} */
function run (folder, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(folder, 'test', 'run.js'), ...args],
    { encoding: 'utf8', timeout: 100_000 })
  return { status, text: stdout + stderr }
}

/** @param {number} pid  a process that has ended may still have its number, where nobody has asked how it ended */
function isRunning (pid) {
  const { status, stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return status === 0 && !stdout.startsWith('Z')
}

const PASSING = 'console.log("ok 1 one\\n1..1")'

tape('runner: an option that it does not know, and a path that matches nothing, run no test', (t) => {
  const folder = makeHouse({ 'good.test.js': PASSING })
  for (const args of [['--loong'], ['--repeat', 'x'], ['--repeat', '0'], ['--busy'], ['good', 'absent']]) {
    const { status, text } = run(folder, args)
    t.equal(status, 2, args.join(' '))
    t.notOk(text.includes('passed'), 'nothing ran')
  }
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: --long-in runs some files in their long form', (t) => {
  const saying = 'console.log("ok 1 " + process.env.MILLRACE_TESTS + "\\n1..1"); process.exitCode = 1'
  const folder = makeHouse({ 'great.test.js': saying, 'small.test.js': saying })
  const { text } = run(folder, ['--long-in', 'great'])
  t.deepEqual(text.match(/ok 1 (long|undefined)|FAILED/g).sort(), [
    'FAILED', 'FAILED', 'ok 1 long', 'ok 1 undefined'
  ])
  t.equal(run(folder, ['--long-in', 'absent']).status, 2)
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: it leaves the slow files out and says so; --slow or their whole name runs them', (t) => {
  const folder = makeHouse({ 'good.test.js': PASSING, 'slow.test.js': PASSING })
  fs.writeFileSync(path.join(folder, 'test', 'slow.json'), '["packages/one/test/slow.test.js"]')
  const { status, text } = run(folder, [])
  t.equal(status, 0)
  t.ok(text.endsWith('left out 1 of the slow files: --slow runs them\n1 passed, 0 failed\n'), text)
  for (const args of [['--slow'], ['--long']]) t.ok(run(folder, args).text.endsWith('2 passed, 0 failed\n'), args[0])
  t.ok(run(folder, ['slow.test.js']).text.endsWith('1 passed, 0 failed\n'))
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: it says how far it is', (t) => {
  const folder = makeHouse({ 'good.test.js': PASSING, 'great.test.js': PASSING })
  const { text } = run(folder, [])
  t.deepEqual(text.match(/^ok {2}\d+\/\d+/gm), ['ok  1/2', 'ok  2/2'], text)
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: the slow files are test files', (t) => {
  const slow = JSON.parse(fs.readFileSync(path.join(__dirname, 'slow.json'), 'utf8'))
  for (const name of slow) t.ok(fs.existsSync(path.join(__dirname, '..', name)), name)
  t.end()
})

tape('runner: --repeat runs each file so many times, beside busy loops that end with it', (t) => {
  const folder = makeHouse({ 'good.test.js': PASSING })
  const { status, text } = run(folder, ['--repeat', '3', '--busy', '2'])
  t.equal(status, 0)
  t.ok(text.endsWith('3 passed, 0 failed\n'), text)
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: a file that is silent is ended with its processes, and what it printed is shown', (t) => {
  const pidPath = path.join(os.tmpdir(), `millrace-run-${process.pid}.pid`)
  const hanging = `
    const { spawn } = require('node:child_process')
    console.log('ok 1 before it hangs')
    const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: 'inherit' })
    require('node:fs').writeFileSync(${JSON.stringify(pidPath)}, String(child.pid))
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 1000)`
  const folder = makeHouse({ 'good.test.js': PASSING, 'hanging.test.js': hanging })
  const { status, text } = run(folder, ['--silent-s', '8'])
  t.equal(status, 1)
  t.ok(text.includes('ok 1 before it hangs'), 'what it printed')
  t.ok(/ended .*hanging\.test\.js: it printed nothing for 8 s/.test(text), 'why it was ended')
  t.ok(text.endsWith('2 passed, 1 failed\n'), text)
  t.notOk(isRunning(Number(fs.readFileSync(pidPath, 'utf8'))), 'its child has ended, too')
  fs.rmSync(pidPath)
  fs.rmSync(folder, { recursive: true })
  t.end()
})

tape('runner: deepEqual passes what is equal, fails what is not, and deepLooseEqual stays loose', (t) => {
  const folder = makeHouse({
    'equal.test.js': `const tape = require('tape')
      tape('equal', (t) => {
        const make = () => Array.from({ length: 20_000 }, (_, i) => ({ i, nested: { list: [i, NaN], map: new Map([[i, 'x']]) } }))
        t.deepEqual(make(), make())
        t.notDeepEqual({ a: 1 }, { a: 2 })
        t.deepLooseEqual({ a: 1 }, { a: '1' })
        t.ok(require.main === module && process.argv[1] === __filename && process.argv.length === 2)
        t.end()
      })`,
    'different.test.js': `const tape = require('tape')
      tape('different', (t) => {
        for (const other of [{ a: 2 }, { a: '1' }, { a: 1, b: undefined }, null]) t.deepEqual({ a: 1 }, other)
        t.notDeepEqual({ a: [1] }, { a: [1] })
        t.end()
      })`
  })
  const { text } = run(folder, [])
  t.match(text, /equal\.test\.js {2}4 passed, 0 failed/)
  t.match(text, /different\.test\.js {2}0 passed, 5 failed/)
  fs.rmSync(folder, { recursive: true })
  t.end()
})

const skipAsking = process.platform === 'win32' && 'there is no signal to ask with'

tape('runner: a file that is silent says in half of its time what it waits for, and makes one more call (silent-follower)', { skip: skipAsking }, (t) => {
  const folder = makeHouse({
    'idle.test.js': 'console.log("ok 1 begun"); setInterval(() => {}, 1e6)',
    'spinning.test.js': 'console.log("ok 1 begun"); for (;;);',
    'going-on.test.js': `console.log("ok 1 begun")
      process.on('SIGUSR2', () => setTimeout(() => { console.log('1..1'); process.exit() }, 10))
      setInterval(() => {}, 1e6)`
  })
  const { text } = run(folder, ['--silent-s', '12'])
  const sayings = (name) => text.split(`${name}.test.js printed nothing for long:\n`)[1]?.split('\n\n')[0]
  t.match(sayings('idle'), /^# silent: it waits for .*1 Timeout\n# silent: after one more call .* 1 Timeout(\n|$)/)
  t.match(sayings('spinning'), /^# silent: it does not answer/)
  t.match(sayings('going-on'), /^# silent: it waits for .*1 Timeout(\n|$)/)
  if (process.platform === 'linux') t.match(sayings('idle'), /took [\d.]+ s of a processor; it is .*, [A-Z]; processes of its own: none$/)
  t.match(text, /^ok .*going-on\.test\.js {2}1 passed, 0 failed/m)
  t.ok(text.endsWith('3 passed, 2 failed\n'), text)
  fs.rmSync(folder, { recursive: true })
  t.end()
})
