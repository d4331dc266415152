import Foundation

/// Image types that cannot contain scripts, recognized by their first bytes.
enum ImageKind: String {
  case png = "image/png"
  case jpeg = "image/jpeg"
  case gif = "image/gif"
  case webp = "image/webp"

  /// `nil` for any other data.
  init?(_ data: Data) {
    let beginning = [UInt8](data.prefix(12))
    switch true {
    case beginning.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]): self = .png
    case beginning.starts(with: [0xFF, 0xD8, 0xFF]): self = .jpeg
    case beginning.starts(with: "GIF87a".utf8), beginning.starts(with: "GIF89a".utf8): self = .gif
    case beginning.count == 12 && beginning.starts(with: "RIFF".utf8) && beginning[8...].elementsEqual("WEBP".utf8):
      self = .webp
    default: return nil
    }
  }

  var name: String {
    switch self {
    case .png: "PNG"
    case .jpeg: "JPEG"
    case .gif: "GIF"
    case .webp: "WebP"
    }
  }
}
