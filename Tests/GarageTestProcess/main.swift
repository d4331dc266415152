import Foundation
import GarageStorage
print("x")
