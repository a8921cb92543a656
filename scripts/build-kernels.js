'use strict'
// Builds the WebAssembly of the packages from its text, into modules beside it: find.wat becomes find-wasm.js. A test
// builds it again, and compares. Usage: node scripts/build-kernels.js

const fs = require('node:fs')
const path = require('node:path')
const loadWabt = require('wabt')

const root = path.join(__dirname, '..')
const LINE_SIZE = 100
/** What is made, and of which sources. Several are the parts of one module. */
const KERNELS = {
  'packages/where/lib/find-wasm.js': ['find.wat'],
  'packages/index/lib/keys-wasm.js': ['keys.wat', 'keys-json.wat', 'keys-binary.wat']
}

/**
 * @returns {Promise<{ file: string, text: string }[]>}  what the modules should be
 */
async function buildKernels () {
  const wabt = await loadWabt()
  return Object.entries(KERNELS).map(([target, [source, ...more]]) => {
    const folder = path.join(root, path.dirname(target))
    const parts = [source, ...more].map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
    const module = wabt.parseWat(source, more.length === 0 ? parts[0] : `(module\n${parts.join('')})`, { simd: true })
    module.validate()
    const { buffer } = module.toBinary({})
    module.destroy()
    return { file: path.join(root, target), text: format(source, Buffer.from(buffer)) }
  })
}

/**
 * @param {string} source
 * @param {Buffer} bytes
 * @returns {string}  of a module that exports them as base64
 */
function format (source, bytes) {
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE_SIZE}}`, 'g')) ?? []
  return `'use strict'
// Made of ${source} by scripts/build-kernels.js: ${bytes.length} bytes of WebAssembly, as base64.

module.exports = [
${lines.map((line) => `  '${line}'`).join(',\n')}
].join('')
`
}

if (require.main === module) {
  buildKernels().then((kernels) => {
    for (const { file, text } of kernels) fs.writeFileSync(file, text)
  })
}

exports.buildKernels = buildKernels
