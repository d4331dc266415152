#if Compression
  import CZstd
  public import Foundation

  /// Compresses values with Zstandard (RFC 8878). Available with the package trait `Compression`. A value that does not
  /// become shorter is stored as it is.
  public struct ZstandardCompression: PackagedTransform {
    public var identifier: UInt8 { 1 }
    /// 1 … 19, from fast to small; negative levels are even faster.
    public let level: Int
    /// Shorter values, in bytes, are not compressed.
    public let minimumLength: Int

    /// - Parameter level: Clamped to -100 … 19.
    public init(level: Int = 3, minimumLength: Int = 256) {
      self.level = min(19, max(-100, level))
      self.minimumLength = max(0, minimumLength)
    }

    public func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
      if bytes.count < minimumLength { return nil }
      var compressed = Data(count: ZSTD_compressBound(bytes.count))
      let length = compressed.withUnsafeMutableBytes { target in
        bytes.withUnsafeBytes { source in
          ZSTD_compress(target.baseAddress, target.count, source.baseAddress, source.count, Int32(level))
        }
      }
      try check(length)
      if length >= bytes.count { return nil }
      compressed.count = length
      return compressed
    }

    public func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data {
      let length = bytes.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
      guard length != czstd_contentsize_error(), length != czstd_contentsize_unknown() else {
        throw ValueTransformError(.damaged, "It is no frame of Zstandard with a known length. Write it anew.")
      }
      // A frame of n bytes holds blocks of at most 128 KiB behind headers of three, so a longer one is forged. This
      // bounds the allocation for a few bytes.
      guard length <= UInt64(context.maximumLength), length / (128 << 10) <= UInt64(bytes.count) else {
        throw ValueTransformError(
          .damaged, "Its frame of Zstandard claims to hold \(length) bytes, which cannot be. Write it anew.")
      }
      var restored = Data(count: Int(length))
      let written = restored.withUnsafeMutableBytes { target in
        bytes.withUnsafeBytes { source in
          ZSTD_decompress(target.baseAddress, target.count, source.baseAddress, source.count)
        }
      }
      try check(written)
      guard written == restored.count else {
        throw ValueTransformError(.damaged, "Its frame of Zstandard ends too early. Write it anew.")
      }
      return restored
    }

    private func check(_ result: Int) throws {
      if ZSTD_isError(result) != 0 {
        throw ValueTransformError(
          .damaged, "Zstandard does not take it: \(String(cString: ZSTD_getErrorName(result))). Write it anew.")
      }
    }
  }
#endif
