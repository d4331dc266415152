package import Foundation

extension NSCharacterSet {
  /// Returns a set, or `nil` if the bitmap is shorter than that of the first plane, which Foundation reads in any case.
  package static func checked(bitmap: Data) -> NSCharacterSet? {
    bitmap.count >= 8192 ? NSCharacterSet(bitmapRepresentation: bitmap) : nil
  }
}
