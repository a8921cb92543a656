'use strict'
// What `--help` prints.

const { listLayers, listStacks } = require('./registry')

function usage () {
  const layers = listLayers()
  return `Usage: npm run bench -- [options]

Times every layer across block sizes, for each stack, and writes data/<layer>.csv and images/*.svg, *.png.

  --blocks LIST   block sizes in KiB                      1,2,4,8,16,32,64,128
  --full          every block size from 1 to 127 KiB      takes about an hour
  --layers LIST   layers to time                          ${layers.map((layer) => layer.name).join(',')}
  --stacks LIST   stacks to time, or paths of modules     ${listStacks().map((stack) => stack.name).join(',')}
  --runs N        how often each case runs                3, while 215 seconds are not up
  --records N     messages in the generated log           458803
  --file PATH     a flumelog-offset log (32-bit offsets, JSON) to read instead
  --out DIR       where data/ and images/ go              the root of the repository
  --help          this text

Layers:
${layers.map((layer) => `  ${layer.name.padEnd(8)}${layer.meaning}`).join('\n')}
`
}

exports.usage = usage
