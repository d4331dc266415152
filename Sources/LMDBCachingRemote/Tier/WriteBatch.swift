import Foundation
import LMDBCaching
import Platform

/// Writes of single keys that the server makes as one, in their order. It stops at the first that it cannot make, and says
/// of each that it made which revision it is.
struct WriteBatch: Sendable {
  /// What became of a write.
  enum Outcome: Sendable {
    case written(RemoteRevision)
    /// It had been made before, when it was sent the last time.
    case known
  }

  /// What a server holds up as long as it takes is no longer than that.
  static let length = 128
  static let size = 1 << 20

  /// `KEYS`: the stream; where the number of the queue's last write is, or the stream again; then of each write the entry
  /// and the lease. `ARGV`: the stream's length; whether the writes are numbered, 1 or 0; then of each write its number, its
  /// key, the record and the milliseconds to live, 0 for ever, or - for a removal.
  ///
  /// A write with the number of the last one or a lesser one was made before. Who loads a key loses the lease: what is loaded
  /// is older. The number is kept for a week.
  private static let script = RemoteScript(
    """
    local last, applied, results = 0, nil, {}
    if ARGV[2] == '1' then
      last = tonumber(redis.call('GET', KEYS[2]) or '0')
    end
    for i = 1, (#ARGV - 2) / 4 do
      local at = 4 * i - 1
      if tonumber(ARGV[at]) <= last then
        results[i] = ''
      else
        local entry, lease, life = KEYS[2 * i + 1], KEYS[2 * i + 2], ARGV[at + 3]
        local id = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'k', ARGV[at + 1])
        local result = id
        if type(id) == 'string' then
          if life == '-' then
            result = redis.pcall('DEL', entry, lease)
          else
            local value = id .. '\\n' .. ARGV[at + 2]
            if life == '0' then
              result = redis.pcall('SET', entry, value)
            else
              result = redis.pcall('SET', entry, value, 'PX', life)
            end
            redis.pcall('DEL', lease)
          end
        end
        if type(result) == 'table' and result.err then
          results[i] = '-' .. result.err
          break
        end
        results[i] = id
        applied = ARGV[at]
      end
    end
    if applied and ARGV[2] == '1' then
      redis.pcall('SET', KEYS[2], applied, 'PX', 604800000)
    end
    return results
    """)

  private let queue: String?
  private let streamLength: Int
  private let names: RemoteNames
  private var keys: [Data]
  private var arguments: [Data]
  private(set) var count = 0
  private var bytes = 0

  /// - Parameter queue: Where the number of the queue's last write is; `nil`: the writes have no numbers.
  init(queue: String?, _ names: RemoteNames, streamLength: Int) {
    self.queue = queue
    self.names = names
    self.streamLength = streamLength
    keys = [names.changes.bytes, (queue ?? names.changes).bytes]
    arguments = [streamLength.bytes, (queue == nil ? "0" : "1").bytes]
  }

  /// Whether no other write should be added.
  var isFull: Bool { count >= Self.length || bytes >= Self.size }

  /// - Parameters:
  ///   - entry: What is set; `nil`: the entry is removed.
  ///   - number: At least 1.
  mutating func add(_ key: String, _ entry: PortableEntry?, number: Int = 1) {
    keys.append(names.entry(key).bytes)
    keys.append(names.lease(key).bytes)
    arguments.append(number.bytes)
    arguments.append(key.bytes)
    if let entry, let record = entry.liveRecord {
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

  /// What became of the first writes, and why it ended there, if not all of them were made.
  static func outcomes(of reply: RemoteReply, count: Int) -> (made: [Outcome], failure: RemoteTierError?) {
    guard case .array(let results) = reply else {
      return ([], RemoteTierError(.failed, "A script returned something else."))
    }
    var made: [Outcome] = []
    for result in results {
      guard case .bytes(let text) = result else { break }
      if text.isEmpty {
        made.append(.known)
      } else if let revision = RemoteRevision(text) {
        made.append(.written(revision))
      } else {
        return (made, RemoteTierError(reply: String(decoding: text.dropFirst(), as: UTF8.self)))
      }
    }
    if made.count == count { return (made, nil) }
    return (made, RemoteTierError(.failed, "A script returned \(results.count) results for \(count) writes."))
  }
}

extension PortableEntry {
  /// What is sent of it, and for how long it lives from now on, `nil` for ever; nothing if it has expired.
  var liveRecord: (bytes: Data, millisecondsToLive: Int?)? {
    let life = millisecondsToLive
    return life == 0 ? nil : (record, life)
  }

  /// How long it lives from now on; `nil` for ever, 0: not at all.
  var millisecondsToLive: Int? {
    if expires == 0 { return nil }
    let rest = expires.subtractingReportingOverflow(RealTimeClock.nanoseconds)
    if rest.overflow { return expires > 0 ? Int.max / 1_000_000 : 0 }
    return rest.partialValue <= 0 ? 0 : Int(rest.partialValue / 1_000_000) + 1
  }
}
