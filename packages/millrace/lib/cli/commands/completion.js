'use strict'

const { scripts } = require('../completion')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'completion',
  summary: 'prints a script that completes commands and options in a shell',
  arguments: [{ name: 'shell', description: 'the shell', kind: 'text', choices: Object.keys(scripts) }],
  options: [],
  examples: [
    ['source <(millrace completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc'],
    ['millrace completion fish > ~/.config/fish/completions/millrace.fish', 'for fish, once']
  ],
  async run ({ args, shell }) {
    const { commandNames, loadCommand } = require('../commands')
    const script = scripts[/** @type {keyof typeof scripts} */ (args.shell)]
    await shell.write(script(commandNames.map(loadCommand)))
  }
}
