'use strict'
// What is made from the definitions of the commands: the reference page, help and completion.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { commandNames, loadCommand } = require('../lib/cli/commands')
const { createReference } = require('../lib/cli/reference')
const { runCommand } = require('./run-command')

tape('reference: the page is that of these commands', (t) => {
  const page = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'docs', 'reference', 'command.md'), 'utf8')
  t.equal(page, createReference(commandNames.map(loadCommand)), 'npm run reference writes it')
  t.end()
})

tape('commands: each says what it is, with an example of its own', (t) => {
  for (const name of commandNames) {
    const { summary, examples, run } = loadCommand(name)
    t.ok(summary.length > 0 && !summary.endsWith('.') && typeof run === 'function', name)
    t.ok(examples.some(([line]) => line.includes(`millrace ${name}`)), `${name}: an example`)
  }
  t.end()
})

tape('help: of the program and of each command, on standard output', async (t) => {
  const { stdout, code } = await runCommand(['--help'])
  t.equal(code, 0)
  for (const name of commandNames) t.match(stdout, new RegExp(`^ +${name} `, 'm'), name)
  const { stdout: help, code: helpCode } = await runCommand(['cat', '--help'])
  t.match(help, /--where <filter>[\s\S]*Examples:\n {2}\$ millrace cat/)
  t.equal(helpCode, 0)
})

const shells = { bash: ['-n'], zsh: ['-n'], fish: ['--no-execute'] }
for (const [shell, flags] of Object.entries(shells)) {
  tape(`completion: ${shell} takes the script`, async (t) => {
    const { stdout, code } = await runCommand(['completion', shell])
    t.equal(code, 0)
    t.ok(commandNames.every((name) => stdout.includes(name)), 'it has every command')
    const file = newPath('script')
    fs.writeFileSync(file, stdout)
    const { error, status, stderr } = spawnSync(shell, [...flags, file], { encoding: 'utf8' })
    if (error) t.skip(`${shell} is not installed`)
    else t.equal(status, 0, stderr)
  })
}

tape('completion: bash completes commands, options and their values', async (t) => {
  const file = newPath('script')
  fs.writeFileSync(file, (await runCommand(['completion', 'bash'])).stdout)
  const complete = (...words) => {
    const list = words.map((word) => `'${word}'`).join(' ')
    const script = `source ${file}; COMP_WORDS=(millrace ${list}); COMP_CWORD=${words.length}; _millrace; echo "\${COMPREPLY[*]}"`
    const { error, stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
    return error ? null : stdout.trim()
  }
  if (complete('c') === null) return t.skip('bash is not installed')
  t.equal(complete('ca'), 'cat')
  t.equal(complete('cat', '--rev'), '--reverse')
  t.equal(complete('cat', '--codec', 'b'), 'binary bytes')
  t.equal(complete('completion', 'z'), 'zsh')
})
