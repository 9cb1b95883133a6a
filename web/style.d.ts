// What an import of a style is: nothing, but the bundler puts it into the page's.

declare module '*.css'
