public import Foundation

/// What user defaults hold in an archive: any class that conforms to `NSCoding`.
public typealias UserDefaultsSupportedType = NSCoding
