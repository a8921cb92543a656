'use strict'
// docs/start.md, followed from top to bottom in one folder: its programs are saved, its commands run, and they print
// what the page says. Only the installation is left out.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')

const root = path.join(__dirname, '..')
const page = fs.readFileSync(path.join(root, 'docs', 'start.md'), 'utf8')
/** The folder in which the page was written. */
const SHOWN = '/home/ada/shop'
const TIMEOUT_MS = 120_000

/** The blocks of the page: programs to save, commands to run, and what they print. */
const blocks = [...page.matchAll(/^```(js|sh|text)\n([^]*?)^```$/gm)].map(([, kind, text]) => ({ kind, text }))

/** A folder in which `require` and `npx` find the packages, as after the installation. */
function makeFolder () {
  const folder = fs.realpathSync(temporaryFolder())
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'junction')
  return folder
}

/** @param {string} commands  without the look at a registry and the time that npx takes */
function withoutNpx (commands) {
  const bin = path.join(root, 'packages', 'millrace', 'bin', 'millrace.js')
  return `set -e\n${commands.replaceAll('npx millrace', `"${process.execPath}" "${bin}"`)}`
}

/** @param {string} folder  @param {string} commands */
function run (folder, commands) {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', withoutNpx(commands)], { cwd: folder, encoding: 'utf8', timeout: TIMEOUT_MS })
  return { output: stdout.replaceAll(folder, SHOWN), stderr, status }
}

/** Commands that go on until they are stopped. @param {string} folder  @param {string} commands */
function begin (folder, commands) {
  const child = spawn('sh', ['-c', withoutNpx(commands).replace('set -e\n', 'exec ')], { cwd: folder })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => { output += text })
  const ended = once(child, 'close')
  return {
    /** @param {string} expected  what they print, sooner or later */
    async until (expected) {
      const deadline = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
      while (output.length < expected.length && child.exitCode === null && child.signalCode === null) {
        await Promise.race([once(child.stdout, 'data'), ended])
      }
      clearTimeout(deadline)
      child.kill('SIGINT')
      await ended
      return output
    }
  }
}

tape('start: the page, followed from top to bottom, does what it says', { skip: process.platform === 'win32' }, async (t) => {
  const folder = makeFolder()
  let printed = ''
  /** @type {ReturnType<begin> | null} */
  let following = null
  for (const { kind, text } of blocks) {
    if (kind === 'js') {
      const [, name] = /^\/\/ (\S+\.js)\n/.exec(text)
      fs.writeFileSync(path.join(folder, name), text)
    } else if (kind === 'sh' && / tail -f /.test(text)) {
      following = begin(folder, text)
    } else if (kind === 'sh') {
      t.equal(printed, '', 'the page says all that was printed before')
      const { output, stderr, status } = run(folder, text)
      t.equal(status, 0, `${text}${stderr}`)
      printed = output
    } else if (following) {
      t.equal(printed, '')
      t.equal(await following.until(text), text)
      following = null
    } else {
      t.equal(printed, text)
      printed = ''
    }
  }
  t.equal(printed, '')
  t.equal(following, null)
  t.end()
})

tape('start: the page has programs, commands and what they print', (t) => {
  for (const kind of ['js', 'sh', 'text']) t.ok(blocks.filter((block) => block.kind === kind).length > 3, kind)
  t.end()
})
