import Foundation

/// What the server does as one.
///
/// Each writes and tells the fleet of it in one step: there is no change without its entry in the stream, and none twice.
/// An entry's value is its revision, a line feed, and the record.
struct RemoteScript: Sendable {
  let source: String

  /// Whether a numbered write is the first of its kind; what was sent twice has no effect the second time.
  ///
  /// `KEYS[4]`: where the number of the last one is, for a day. `ARGV[3]`: the number.
  private static let once = """
    if KEYS[4] then
      local last = redis.call('GET', KEYS[4])
      if last and tonumber(last) >= tonumber(ARGV[3]) then
        return false
      end
      redis.call('SET', KEYS[4], ARGV[3], 'PX', 86400000)
    end

    """

  /// `KEYS`: the entry, the stream, the lease. `ARGV`: the key, the stream's length, a number, the record, milliseconds to
  /// live or 0. Who loads the key loses the lease: what is loaded is older.
  static let set = RemoteScript(
    once + """
      local id = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'k', ARGV[1])
      local value = id .. '\\n' .. ARGV[4]
      if ARGV[5] == '0' then
        redis.call('SET', KEYS[1], value)
      else
        redis.call('SET', KEYS[1], value, 'PX', ARGV[5])
      end
      redis.call('DEL', KEYS[3])
      return id
      """)

  /// `KEYS`: the entry, the stream, the lease. `ARGV`: the key, the stream's length, a number.
  static let remove = RemoteScript(
    once + """
      redis.call('DEL', KEYS[1], KEYS[3])
      return redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'k', ARGV[1])
      """)

  /// Stores what was loaded, if nobody has written the key since the lease was taken. `KEYS`: the entry, the stream, the
  /// lease. `ARGV`: the key, the stream's length, the token of the lease, the record, milliseconds to live or 0.
  ///
  /// As leases of R. Nishtala et al., "Scaling Memcache at Facebook" (2013).
  static let publish = RemoteScript(
    """
    if redis.call('GET', KEYS[3]) ~= ARGV[3] then
      return false
    end
    local id = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'k', ARGV[1])
    local value = id .. '\\n' .. ARGV[4]
    if ARGV[5] == '0' then
      redis.call('SET', KEYS[1], value)
    else
      redis.call('SET', KEYS[1], value, 'PX', ARGV[5])
    end
    redis.call('DEL', KEYS[3])
    return id
    """)

  /// Removes entries that are older than a revision. `KEYS`: entries. `ARGV`: its two numbers.
  static let removeOlder = RemoteScript(
    """
    local removed = 0
    for _, key in ipairs(KEYS) do
      local time, count = string.match(redis.call('GETRANGE', key, 0, 47), '^(%d+)-(%d+)\\n')
      time, count = tonumber(time), tonumber(count)
      local bound, boundCount = tonumber(ARGV[1]), tonumber(ARGV[2])
      if time == nil or time < bound or time == bound and count < boundCount then
        removed = removed + redis.call('UNLINK', key)
      end
    end
    return removed
    """)

  /// `KEYS`: the lease. `ARGV`: the token of its owner.
  static let release = RemoteScript(
    """
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('DEL', KEYS[1])
    end
    return 0
    """)

  init(_ source: String) { self.source = source }

  func command(keys: [String], _ arguments: any RemoteArgument...) -> RemoteCommand {
    RemoteCommand(["EVAL".bytes, source.bytes, keys.count.bytes] + keys.map(\.bytes) + arguments.map(\.bytes))
  }
}
