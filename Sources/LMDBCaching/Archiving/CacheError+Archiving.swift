import CBORCoding
import Foundation

// The only place that converts coder errors to cache errors.

extension CacheError {
  static func notArchived(_ what: String, _ error: any Error) -> CacheError {
    CacheError(.encodingFailed, "\(what) cannot be archived; nothing was written.", underlying: error)
  }

  /// The stored value cannot be read as the requested type: it has another type, if the coder says so, or is damaged.
  static func notUnarchived(_ type: Any.Type, _ format: ArchiveFormat, _ key: String, _ error: any Error) -> CacheError
  {
    switch error {
    case DecodingError.dataCorrupted: break
    case is DecodingError: return mismatch(type, format, key, underlying: error)
    default: break
    }
    return CacheError(
      .decodingFailed, "The entry \(quoted(key)) cannot be decoded as \(type). It is kept; remove or replace it.",
      underlying: error)
  }

  static func notUnarchived(objectUnder key: String, _ error: any Error) -> CacheError {
    let remedy: String
    switch (error as? CBORCodingError)?.code {
    case .classNotAllowed: remedy = "Add its class to ObjectCoding.allowedClasses, or remove or replace the entry."
    case .classUnknown: remedy = "Link the class in, or set one by CBORKeyedUnarchiver.setClass(_:forClassName:)."
    default: remedy = "Remove or replace it."
    }
    return CacheError(
      .decodingFailed, "The object under \(quoted(key)) cannot be unarchived. It is kept. \(remedy)", underlying: error)
  }

  static func mismatch(
    _ type: Any.Type, _ format: ArchiveFormat, _ key: String, underlying: (any Error)? = nil
  ) -> CacheError {
    CacheError(
      .typeMismatch,
      "The entry \(quoted(key)) is stored as \(format) and cannot be read as \(type). It is kept; remove or replace it.",
      underlying: underlying)
  }
}

/// A key for a message: quoted and truncated.
package func quoted(_ key: String) -> String {
  key.utf8.count <= 80 ? "\"\(key)\"" : "\"\(key.prefix(60))…\" (\(key.utf8.count) bytes)"
}
