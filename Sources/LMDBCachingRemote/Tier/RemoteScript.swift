import Foundation

/// What the server does as one.
///
/// Each writes and tells the fleet of it in one step: there is no change without its entry in the stream, and none
/// twice. An entry's value is its revision, a line feed, and the record. Writes of several keys are in ``WriteBatch``.
struct RemoteScript: Sendable {
  let source: String

  /// Stores what was loaded, if nobody has written the key since the lease was taken. `KEYS`: the entry, the stream,
  /// the lease. `ARGV`: the key, the stream's length, the token of the lease, the record, milliseconds to live or 0.
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

  /// Gives a removal of many a revision: what is older is to be removed. `KEYS`: the stream, and of a queue where the
  /// number of its last write and the revision of its removal are. `ARGV`: the stream's length, and of a queue the
  /// number. One that was begun before gets the same revision again, and one that is done none.
  static let beginRemoval = RemoteScript(
    """
    if KEYS[2] then
      if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[2]) then
        return ''
      end
      local number, id = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (.+)$')
      if number == ARGV[2] then
        return id
      end
    end
    local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'n', '')
    if KEYS[2] then
      redis.call('SET', KEYS[3], ARGV[2] .. ' ' .. id, 'PX', 604800000)
    end
    return id
    """)

  /// What tells a server from another one that takes its place, and from itself before a restart or a fail-over; empty
  /// if the user may not ask.
  static let identity = RemoteScript(identityFunction + "return identity()")

  private static let identityFunction =
    """
    local function identity()
      local server = redis.pcall('INFO', 'server')
      local replication = redis.pcall('INFO', 'replication')
      if type(server) ~= 'string' or type(replication) ~= 'string' then
        return ''
      end
      return (string.match(server, 'run_id:(%w+)') or '') .. (string.match(replication, 'master_replid:(%w+)') or '')
    end

    """

  /// What ``endRemoval`` returns on a server that is another one.
  static let anotherServer = Data("another".utf8)

  /// Tells the fleet of a removal of many. `KEYS` as of ``beginRemoval``. `ARGV`: the stream's length, the prefix, what
  /// ``identity`` returned, and of a queue the number.
  static let endRemoval = RemoteScript(
    identityFunction + """
      if KEYS[2] and tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[4]) then
        return ''
      end
      if identity() ~= ARGV[3] then
        return 'another'
      end
      local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'p', ARGV[2])
      if KEYS[2] then
        redis.call('SET', KEYS[2], ARGV[4], 'PX', 604800000)
        redis.call('DEL', KEYS[3])
      end
      return id
      """)

  /// Removes entries that are older than a revision, and what is no entry. `KEYS`: entries. `ARGV`: its two numbers.
  static let removeOlder = RemoteScript(
    """
    local removed = 0
    for _, key in ipairs(KEYS) do
      local start = redis.pcall('GETRANGE', key, 0, 47)
      if type(start) == 'table' then
        if not string.find(start.err, 'WRONGTYPE', 1, true) then
          return start
        end
        start = ''
      end
      local time, count = string.match(start, '^(%d+)-(%d+)\\n')
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

  /// - Parameter source: The server is sent it without what it is indented by.
  init(_ source: String) {
    self.source = source.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }

  func command(keys: [String], _ arguments: any RemoteArgument...) -> RemoteCommand {
    command(keys: keys.map(\.bytes), arguments: arguments.map(\.bytes))
  }

  func command(keys: [Data], arguments: [Data]) -> RemoteCommand {
    RemoteCommand(["EVAL".bytes, source.bytes, keys.count.bytes] + keys + arguments)
  }
}
