import CHiredis
import Foundation

/// Parses replies from received bytes, by hiredis.
final class ReplyReader {
  private let reader: UnsafeMutablePointer<redisReader>

  init() throws(RemoteTierError) {
    guard let reader = redisReaderCreate() else {
      throw RemoteTierError(.unreachable, "There is no memory for a connection.")
    }
    self.reader = reader
  }

  deinit { redisReaderFree(reader) }

  func feed(_ bytes: UnsafeRawBufferPointer) throws(RemoteTierError) {
    guard redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == 0 else {
      throw RemoteTierError(.unreachable, "There is no memory for what arrives.")
    }
  }

  /// The next complete reply, or `nil`.
  func next() throws(RemoteTierError) -> RemoteReply? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == 0 else {
      throw RemoteTierError(.unreachable, "What arrived is no reply of a Redis server.")
    }
    guard let reply else { return nil }
    defer { freeReplyObject(reply) }
    return RemoteReply(reply.assumingMemoryBound(to: redisReply.self).pointee)
  }
}

extension RemoteReply {
  fileprivate init(_ reply: redisReply) {
    func bytes() -> Data { reply.str.map { Data(bytes: $0, count: reply.len) } ?? Data() }
    switch reply.type {
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .bytes(bytes())
    case REDIS_REPLY_ERROR: self = .error(String(decoding: bytes(), as: UTF8.self))
    case REDIS_REPLY_INTEGER: self = .integer(reply.integer)
    case REDIS_REPLY_ARRAY:
      self = .array(
        (0..<reply.elements).map { index in
          reply.element[index].map { RemoteReply($0.pointee) } ?? .null
        })
    default: self = .null
    }
  }
}
