import Foundation
import LMDBCaching
import Platform

/// The names of a fleet's keys on the server. The prefix is in braces, so that a cluster keeps them in one slot, as
/// scripts need. The number is the format's: fleets of other formats are separate.
struct RemoteNames: Sendable {
  static let format = 1

  private let base: String
  private let entryPrefix: String
  let changes: String
  /// Holds a random text as long as the server has the fleet's data.
  let incarnation: String
  private let leasePrefix: String

  init(prefix: String) {
    base = "{\(prefix)}:\(Self.format):"
    entryPrefix = base + "e:"
    leasePrefix = base + "l:"
    changes = base + "changes"
    incarnation = base + "incarnation"
  }

  func entry(_ key: String) -> String { entryPrefix + key }
  func lease(_ key: String) -> String { leasePrefix + key }

  /// Where the number of the last write of a queue is.
  func queue(_ identifier: String) -> String { base + "q:" + identifier }

  /// Where the revision of a queue's removal of many is, until that is done.
  func removal(_ identifier: String) -> String { base + "r:" + identifier }

  /// Patterns for `SCAN` of the entries whose keys have a prefix, and of their leases.
  func patterns(ofKeysWithPrefix prefix: String) -> (entries: String, leases: String) {
    (Self.pattern(entryPrefix + prefix), Self.pattern(leasePrefix + prefix))
  }

  private static func pattern(_ prefix: String) -> String {
    var pattern = ""
    for character in prefix.unicodeScalars {
      if "*?[]\\^-".unicodeScalars.contains(character) { pattern += "\\" }
      pattern.unicodeScalars.append(character)
    }
    return pattern + "*"
  }
}

struct RemoteEntry: Sendable {
  let revision: RemoteRevision
  let record: Data

  /// How much of a value its revision takes at most, with the line feed.
  static let revisionLength = 48

  /// Reads a value: its revision, a line feed, the record. Throws `.failed` for anything else.
  init?(_ reply: RemoteReply) throws(RemoteTierError) {
    if case .null = reply { return nil }
    guard case .bytes(let value) = reply, let end = value.prefix(Self.revisionLength).firstIndex(of: 0x0A),
      let revision = RemoteRevision(value[..<end])
    else {
      throw RemoteTierError(.failed, "The server holds what is no value of a cache. Has another program such a key?")
    }
    self.revision = revision
    record = value[(end + 1)...]
  }

  /// The revision of a value, of which there is the beginning only; `nil` if there is none.
  static func revision(_ reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let value) = reply, let end = value.firstIndex(of: 0x0A) else { return nil }
    return RemoteRevision(value[..<end])
  }

  /// The revision that a script returns; `nil` if it did nothing.
  static func revision(ofScript reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let id) = reply else { return nil }
    return RemoteRevision(id)
  }
}

/// The change that made a value: the identifier of its entry in the stream, packed in order. Milliseconds of the
/// server's clock in the upper 44 bits (until the year 2527), and a count.
struct RemoteRevision: Hashable, Comparable, Sendable {
  private static let countBits: UInt64 = 20

  let packed: UInt64

  init(packed: UInt64) { self.packed = packed }

  static let none = RemoteRevision(packed: 0)

  init?(_ bytes: some Collection<UInt8>) {
    let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
      .map { UInt64(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 2, let time = parts[0], let number = parts[1], time < 1 << (64 - Self.countBits),
      number < 1 << Self.countBits
    else { return nil }
    packed = time << Self.countBits | number
    if packed == .max { return nil }
  }

  var text: String { "\(packed >> Self.countBits)-\(packed & (1 << Self.countBits - 1))" }

  /// How much later it is than another one, in milliseconds of the server's clock.
  func milliseconds(since other: RemoteRevision) -> Int64 {
    Int64(packed >> Self.countBits) - Int64(other.packed >> Self.countBits)
  }

  static func < (first: RemoteRevision, second: RemoteRevision) -> Bool { first.packed < second.packed }
}

/// A script, which the server runs as one step. Each write includes its entry in the stream.
struct RemoteScript: Sendable {
  let source: String

  /// Stores a loaded value if its lease still holds (R. Nishtala et al., "Scaling Memcache at Facebook", 2013). `KEYS`:
  /// the entry, the stream, the lease. `ARGV`: the key, the stream's length, the lease's token, the record,
  /// milliseconds to live or 0.
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

  /// Returns the revision below which a removal of many removes. `KEYS`: the stream; of a queue, where the number of
  /// its last write and its removal's revision are. `ARGV`: the stream's length; of a queue, the number. A repeated
  /// call returns the same, or nothing once it is done.
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

  /// Tells a server from another one that takes its place, and from itself before a restart or a fail-over; empty if the
  /// user may not ask.
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

  static let anotherServer = Data("another".utf8)

  /// Tells the fleet of a removal of many. `KEYS` as of ``beginRemoval``. `ARGV`: the stream's length, the prefix, what
  /// ``removePage`` returned, and of a queue the number.
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

  /// Removes a page of matching keys that are no entries, or older than a revision. `KEYS`: the stream. `ARGV`: the
  /// server's identity or `-`, the cursor, the pattern, the page's length, the revision's numbers. Returns the identity
  /// and the next cursor; nothing from another server, to which the cursor means nothing.
  static let removePage = RemoteScript(
    identityFunction + """
      local server = identity()
      if ARGV[1] ~= '-' and ARGV[1] ~= server then
        return false
      end
      local bound, boundCount = tonumber(ARGV[5]), tonumber(ARGV[6])
      local page = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', ARGV[4])
      for _, key in ipairs(page[2]) do
        local start = redis.pcall('GETRANGE', key, 0, 47)
        if type(start) == 'table' then
          if not string.find(start.err, 'WRONGTYPE', 1, true) then
            return start
          end
          start = ''
        end
        local time, count = string.match(start, '^(%d+)-(%d+)\\n')
        time, count = tonumber(time), tonumber(count)
        if time == nil or time < bound or time == bound and count < boundCount then
          redis.call('UNLINK', key)
        end
      end
      return {server, page[1]}
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

/// Writes of different keys in one script, which ends at the first that fails, and returns the revisions of those made.
struct WriteBatch: Sendable {
  /// What a server holds up as long as it takes is no longer than that.
  static let length = 128
  static let size = 1 << 20

  /// `KEYS`: the stream; where the number of the queue's last write is, or the stream again; the entry and lease of each
  /// write. `ARGV`: the stream's length; 1 if the writes are numbered, or 0; of each write the number, the key, the
  /// record and the milliseconds to live, 0 for ever, or - for a removal.
  ///
  /// Skips writes up to the last number, which is kept for a week. Deletes leases: a value being loaded is older.
  private static let script = RemoteScript(
    """
    local last, applied, results = 0, nil, {}
    if ARGV[2] == '1' then
      last = tonumber(redis.call('GET', KEYS[2]) or '0')
    end
    local function write(at, entry, lease)
      local id = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'k', ARGV[at + 1])
      local done, life = id, ARGV[at + 3]
      if type(id) ~= 'table' then
        local value = id .. '\\n' .. ARGV[at + 2]
        if life == '-' then
          done = redis.pcall('DEL', entry)
        elseif life == '0' then
          done = redis.pcall('SET', entry, value)
        else
          done = redis.pcall('SET', entry, value, 'PX', life)
        end
        redis.pcall('DEL', lease)
      end
      if type(done) == 'table' and done.err then
        return nil, '-' .. done.err
      end
      return id
    end
    for i = 1, (#ARGV - 2) / 4 do
      local at = 4 * i - 1
      if tonumber(ARGV[at]) <= last then
        results[i] = ''
      else
        local id, failure = write(at, KEYS[2 * i + 1], KEYS[2 * i + 2])
        results[i] = id or failure
        if failure then
          break
        end
        applied = ARGV[at]
      end
    end
    if applied and ARGV[2] == '1' then
      redis.pcall('SET', KEYS[2], applied, 'PX', 604800000)
    end
    return results
    """)

  private let names: RemoteNames
  private var keys: [Data]
  private var arguments: [Data]
  private(set) var count = 0
  private var bytes = 0

  /// - Parameter queue: Where the number of the queue's last write is; `nil`: the writes have no numbers.
  init(queue: String?, _ names: RemoteNames, streamLength: Int) {
    self.names = names
    keys = [names.changes.bytes, (queue ?? names.changes).bytes]
    arguments = [streamLength.bytes, (queue == nil ? "0" : "1").bytes]
  }

  var isFull: Bool { count >= Self.length || bytes >= Self.size }

  /// - Parameters:
  ///   - entry: `nil` for a removal.
  ///   - now: By the clock of the local cache.
  mutating func add(_ key: String, _ entry: PortableEntry?, at now: Int64, number: Int = 1) {
    keys.append(names.entry(key).bytes)
    keys.append(names.lease(key).bytes)
    arguments.append(number.bytes)
    arguments.append(key.bytes)
    if let entry, let record = entry.liveRecord(at: now) {
      arguments.append(record.bytes)
      arguments.append((record.millisecondsToLive ?? 0).bytes)
      bytes += record.bytes.count
    } else {
      arguments.append(Data())
      arguments.append("-".bytes)
    }
    count += 1
  }

  var command: RemoteCommand { Self.script.command(keys: keys, arguments: arguments) }

  /// The revisions of the first writes, `nil` for those made before, and the failure if not all were made.
  static func outcomes(of reply: RemoteReply, count: Int) -> (made: [RemoteRevision?], failure: RemoteTierError?) {
    guard case .array(let results) = reply, results.count <= count else {
      return ([], RemoteTierError(.failed, "A script returned something else."))
    }
    var made: [RemoteRevision?] = []
    for result in results {
      guard case .bytes(let text) = result else { break }
      if text.isEmpty {
        made.append(nil)
      } else if let revision = RemoteRevision(text) {
        made.append(revision)
      } else {
        return (made, RemoteTierError(reply: String(decoding: text.dropFirst(), as: UTF8.self)))
      }
    }
    if made.count == count { return (made, nil) }
    return (made, RemoteTierError(.failed, "A script returned \(results.count) results for \(count) writes."))
  }
}

// Times are nanoseconds since 1970 of the clock that has said when the entry expires.
extension PortableEntry {
  /// The record to send, and how long it lives, `nil` for ever; nothing if it has expired.
  func liveRecord(at now: Int64) -> (bytes: Data, millisecondsToLive: Int?)? {
    let life = millisecondsToLive(at: now)
    return life == 0 ? nil : (record, life)
  }

  /// How long it lives from now on; `nil` for ever, 0: not at all.
  func millisecondsToLive(at now: Int64) -> Int? {
    if expires == 0 { return nil }
    let rest = expires.subtractingReportingOverflow(now)
    if rest.overflow { return expires > 0 ? Int.max / 1_000_000 : 0 }
    return rest.partialValue <= 0 ? 0 : Int(rest.partialValue / 1_000_000) + 1
  }
}

extension Duration {
  /// Rounded up, and at least 1: the server knows no shorter time.
  var wholeMilliseconds: Int { Int(Swift.max(1, clampedNanoseconds.addingClamped(999_999) / 1_000_000)) }
}
