'use strict'

const js = require('@eslint/js')
const stylistic = require('@stylistic/eslint-plugin')

/** What this version of Node.js has, and what every CommonJS module gets. */
const GLOBALS = Object.fromEntries([...Object.getOwnPropertyNames(globalThis), '__dirname', '__filename'].map((name) => [name, 'readonly']))
/** Where this style is stricter than the recommended one, or not as strict. */
const STYLE = {
  '@stylistic/arrow-parens': 'off',
  '@stylistic/brace-style': ['error', '1tbs', { allowSingleLine: true }],
  '@stylistic/comma-dangle': 'off',
  '@stylistic/indent-binary-ops': 'off',
  '@stylistic/max-statements-per-line': 'off',
  '@stylistic/operator-linebreak': ['error', 'after', { overrides: { '?': 'before', ':': 'before' } }],
  '@stylistic/quote-props': ['error', 'as-needed'],
  '@stylistic/quotes': ['error', 'single', { avoidEscape: true, allowTemplateLiterals: 'never' }],
  '@stylistic/space-before-function-paren': ['error', 'always'],
  '@stylistic/generator-star-spacing': ['error', 'both'],
  '@stylistic/yield-star-spacing': ['error', 'both'],
  '@stylistic/no-multi-spaces': ['error', { ignoreEOLComments: true }],
  curly: ['error', 'multi-line'],
  'object-shorthand': ['error', 'properties'],
  'one-var': ['error', { initialized: 'never' }],
  'prefer-const': ['error', { destructuring: 'all' }],
  yoda: 'error'
}
/** Mistakes that the recommended rules let through, and what they take for one. */
const MISTAKES = {
  'array-callback-return': 'error',
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'new-cap': ['error', { capIsNew: false }],
  'no-cond-assign': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  'no-empty': ['error', { allowEmptyCatch: true }],
  'no-eval': 'error',
  'no-extend-native': 'error',
  'no-implied-eval': 'error',
  'no-labels': 'error',
  'no-new': 'error',
  'no-new-func': 'error',
  'no-redeclare': ['error', { builtinGlobals: false }],
  'no-return-assign': ['error', 'except-parens'],
  'no-self-compare': 'error',
  'no-sequences': 'error',
  'no-template-curly-in-string': 'error',
  'no-throw-literal': 'error',
  'no-unmodified-loop-condition': 'error',
  'no-unneeded-ternary': 'error',
  'no-unreachable-loop': 'error',
  'no-unused-expressions': ['error', { allowShortCircuit: true, allowTernary: true, allowTaggedTemplates: true }],
  'no-unused-vars': ['error', { args: 'none', caughtErrors: 'none', ignoreRestSiblings: true }],
  'no-useless-call': 'error',
  'no-useless-computed-key': 'error',
  'no-useless-constructor': 'error',
  'no-useless-rename': 'error',
  'no-useless-return': 'error',
  'no-var': 'error',
  'no-void': 'error',
  'prefer-promise-reject-errors': 'error',
  'symbol-description': 'error'
}
const TIMERS = ['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval']
const STEPPED = ['flow', 'block-file', 'offset-log', 'segmented-log', 'log-writer']

module.exports = [
  { ignores: ['coverage/**', 'data/**', 'images/**', 'scripts/site/dist/**', 'scripts/site/.vitepress/cache/**', '**/types/**'] },
  js.configs.recommended,
  stylistic.configs.customize({ indent: 2, quotes: 'single', semi: false, commaDangle: 'never', braceStyle: '1tbs' }),
  {
    languageOptions: { ecmaVersion: 'latest', sourceType: 'commonjs', globals: GLOBALS },
    rules: {
      ...STYLE,
      ...MISTAKES,
      'max-len': ['error', { code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 15]
    }
  },
  {
    // Tests of programs that use a log replace these, as jest and sinon do by default. What is taken when a module is
    // loaded goes on.
    files: ['packages/*/lib/**/*.js', 'packages/*/*.js'],
    ignores: ['packages/testkit/**', 'packages/millrace/viewer/**'],
    rules: {
      'no-restricted-globals': ['error', ...TIMERS.map((name) => ({ name, message: 'Take it from node:timers.' }))],
      'no-restricted-properties': ['error', { object: 'process', property: 'nextTick', message: 'Take it from node:process.' }]
    }
  },
  {
    // The torture, the fuzzers and some tests step through the time of these packages.
    files: STEPPED.map((name) => `packages/${name}/lib/**/*.js`),
    rules: {
      'no-restricted-globals': ['error', ...TIMERS.slice(0, 2).map((name) => ({ name, message: 'Take it from node:timers.' }))]
    }
  },
  {
    // For a browser. Its names are known to the types, and uPlot is the name of a class.
    files: ['**/*.mjs'],
    languageOptions: { sourceType: 'module' },
    rules: { 'no-undef': 'off', 'new-cap': 'off', 'accessor-pairs': 'off' }
  },
  {
    // Functions in tests of pages run in a browser.
    files: ['**/test/**', 'lab/**', 'packages/testkit/**'],
    languageOptions: { globals: { document: 'readonly', navigator: 'readonly', window: 'readonly', WebSocket: 'readonly' } },
    rules: { 'max-lines-per-function': 'off', 'max-lines': 'off', complexity: 'off' }
  }
]
