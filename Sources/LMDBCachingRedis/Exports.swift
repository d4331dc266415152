// `import LMDBCachingRedis` imports all modules that a fleet needs.
@_exported public import LMDBCaching
@_exported public import LMDBCachingRemote
