package import Foundation

extension NSCharacterSet {
  /// A character set, or `nil` if the bitmap is shorter than the first plane, which Foundation always reads.
  package static func checked(bitmap: Data) -> NSCharacterSet? {
    bitmap.count >= 8192 ? NSCharacterSet(bitmapRepresentation: bitmap) : nil
  }
}
